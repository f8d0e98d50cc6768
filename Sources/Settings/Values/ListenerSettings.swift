/// One place where callers connect.
package struct ListenerSettings: Equatable, Sendable {
    package let address: CallerAddress
    /// `nil`: plain HTTP. A Unix socket has none.
    package let tls: ListenerTLSSettings?

    init(address: CallerAddress, tls: ListenerTLSSettings? = nil) {
        self.address = address
        self.tls = tls
    }

    /// Whether only processes of this machine reach it, and none of them is told by a web page to.
    package var isUnixSocket: Bool {
        if case .unix = self.address { true } else { false }
    }
}
