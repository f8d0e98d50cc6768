/// One place where callers connect.
package struct ListenerSettings: Equatable, Sendable {
    package let address: CallerAddress
    /// `nil`: plain HTTP. A Unix socket has none.
    package let tls: ListenerTLSSettings?

    init(address: CallerAddress, tls: ListenerTLSSettings? = nil) {
        self.address = address
        self.tls = tls
    }
}
