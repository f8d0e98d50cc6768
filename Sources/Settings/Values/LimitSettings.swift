/// How much callers may ask for.
package struct LimitSettings: Equatable, Sendable {
    /// A request's head, in bytes.
    package let head: Int
    /// One field line, in bytes.
    package let field: Int
    package let fields: Int
    /// The request target, in bytes.
    package let target: Int
    /// Callers' connections at once.
    package let connections: Int
    /// Whether the file names that number. The default gives way where the process can hold fewer.
    package let namesConnections: Bool
    /// Those of one address; 0: any number.
    package let connectionsPerAddress: Int
    /// Requests that may wait for refreshes at once.
    package let waiters: Int
    /// Bodies that are kept so that they can be sent again, all together and in bytes.
    package let replayMemory: Int
    /// From a head's first byte to its last.
    package let headerTimeout: Duration
    /// From a connection's beginning to the end of its TLS handshake.
    package let handshakeTimeout: Duration
    /// The least that a body comes at, in bytes per second; 0: any pace.
    package let bodyRate: Int
    /// For a connection without a request.
    package let idleTimeout: Duration
}
