/// Where the admin API is served: an IP address of this machine and a TCP port.
package struct AdminAddress: Hashable, Sendable {
    /// An IPv6 address has no brackets here.
    package let host: String
    /// 0: the system chooses one.
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }
}

extension AdminAddress: CustomStringConvertible {
    package var description: String {
        self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }
}
