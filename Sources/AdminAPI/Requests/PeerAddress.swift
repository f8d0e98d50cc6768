internal import NIOCore

/// The address of a connection's peer, as records show it.
enum PeerAddress {
    /// Such as `127.0.0.1:51234`; `nil` if the system does not report it, as after the connection has ended.
    static func text(of connection: any Channel) -> String? {
        guard let address = connection.remoteAddress else { return nil }
        switch address {
        case .v4: return "\(address.ipAddress ?? "?"):\(address.port ?? 0)"
        case .v6: return "[\(address.ipAddress ?? "?")]:\(address.port ?? 0)"
        case .unixDomainSocket: return "unix socket"
        }
    }
}
