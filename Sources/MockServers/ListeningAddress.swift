/// Where a running mock can be reached.
package struct ListeningAddress: Equatable, Sendable, CustomStringConvertible {
    /// `http` or `https`.
    package let scheme: String

    /// An IP address, without brackets.
    package let host: String
    package let port: Int

    package init(scheme: String, host: String, port: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// The base URL without a slash at its end: `http://127.0.0.1:9090`, `https://[::1]:9443`.
    package var description: String {
        "\(self.scheme)://\(self.host.contains(":") ? "[\(self.host)]" : self.host):\(self.port)"
    }
}
