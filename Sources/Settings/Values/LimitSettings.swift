/// The limits on what callers may use.
package struct LimitSettings: Equatable, Sendable {
    /// The size of a request's head, in bytes.
    package let head: Int
    /// The size of one field line, in bytes.
    package let field: Int
    package let fields: Int
    /// The size of the request target, in bytes.
    package let target: Int
    /// The number of concurrent caller connections.
    package let connections: Int
    /// Whether the file sets ``connections``. The default is reduced if the process can't open as many.
    package let namesConnections: Bool
    /// The number of concurrent connections from one address; 0: unlimited.
    package let connectionsPerAddress: Int
    /// The number of requests that may wait for refreshes at the same time.
    package let waiters: Int
    /// The total size of the bodies kept for replays, in bytes.
    package let replayMemory: Int
    /// The time from a head's first byte to its last.
    package let headerTimeout: Duration
    /// The time from the start of a connection to the end of its TLS handshake.
    package let handshakeTimeout: Duration
    /// The minimum rate of a body, in bytes per second; 0: none.
    package let bodyRate: Int
    /// The time that a connection may be open without a request.
    package let idleTimeout: Duration
}
