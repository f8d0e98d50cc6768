internal import NIOCore

/// Where the other end of a connection is, as records name it.
enum PeerAddress {
    /// Such as `127.0.0.1:51234`; `nil` where the system does not say, as when the connection has ended.
    static func text(of connection: any Channel) -> String? {
        guard let address = connection.remoteAddress else { return nil }
        switch address {
        case .v4: return "\(address.ipAddress ?? "?"):\(address.port ?? 0)"
        case .v6: return "[\(address.ipAddress ?? "?")]:\(address.port ?? 0)"
        case .unixDomainSocket: return "unix socket"
        }
    }
}
