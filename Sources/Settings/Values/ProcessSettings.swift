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
    /// The total size of the heads that are still coming, in bytes.
    package let headMemory: Int
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

/// What is written to the log.
package struct LogSettings: Equatable, Sendable {
    /// The lowest level that is written.
    package enum Level: String, Sendable, CaseIterable { case trace, debug, info, warning, error }

    package enum Format: String, Sendable, CaseIterable { case json, text }

    package let level: Level
    package let format: Format
    /// Whether each request writes a log entry.
    package let access: Bool

    package init(level: Level, format: Format, access: Bool) {
        self.level = level
        self.format = format
        self.access = access
    }
}

/// This process as one of the replicas that share a store.
package struct ReplicaSettings: Equatable, Sendable {
    /// For display only; `nil`: the host's name.
    package let name: String?
    /// How long tokens are put into requests without reading the kill log. A kill may have to wait this long.
    package let lease: Duration

    package init(name: String? = nil, lease: Duration = .seconds(10)) {
        self.name = name
        self.lease = lease
    }
}
