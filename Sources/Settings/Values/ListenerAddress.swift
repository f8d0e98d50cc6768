/// An IP address and TCP port that is listened on.
package struct ListenerAddress: Hashable, Sendable {
    /// An address, never a name: what is bound must not depend on what a resolver says that day.
    package let host: NetworkHost
    /// 0: the system chooses one.
    package let port: Int

    /// On `127.0.0.1`.
    init(loopbackPort port: Int) {
        self.init(host: .loopback, port: port)
    }

    private init(host: NetworkHost, port: Int) {
        self.host = host
        self.port = port
    }

    /// Where this machine reaches it: what listens on every address also listens on loopback, and what is sent there stays
    /// on the machine.
    package var fromHere: ListenerAddress { ListenerAddress(host: self.host.fromHere, port: self.port) }

    /// Reads `127.0.0.1:8080` or `[::1]:8080`.
    init(_ text: String) throws(ValueError) {
        let expected = ValueError("expected an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080")
        guard !text.hasPrefix("unix:") else { throw ValueError("can't be a Unix socket, only listeners can") }
        guard let colon = text.lastIndex(of: ":") else { throw expected }
        let host: NetworkHost
        do throws(ValueError) { host = try NetworkHost(text[..<colon]) } catch { throw expected }
        guard host.kind != .name else { throw expected }
        self.host = host
        self.port = try PortNumber.parse(text[text.index(after: colon)...])
    }
}

extension ListenerAddress: CustomStringConvertible {
    package var description: String { "\(self.host.authority):\(self.port)" }
}
