/// The keys of `limits`.
enum LimitKey: String, Vocabulary {
    case head, field, fields, target, connections, waiters
    case connectionsPerAddress = "connections_per_address"
    case replayMemory = "replay_memory"
    case headerTimeout = "header_timeout"
    case handshakeTimeout = "handshake_timeout"
    case bodyRate = "body_rate"
    case idleTimeout = "idle_timeout"
}

extension LimitSettings {
    init(_ section: Section<LimitKey>) {
        // Less than a browser sends helps nobody; more than 1 MiB of head is memory that a stranger holds.
        let sizes = 256...(1 << 20)
        self.head = section.read(.head) { $0.size(in: sizes) } ?? 32 << 10
        self.field = section.read(.field) { $0.size(in: sizes) } ?? 16 << 10
        self.fields = section.read(.fields) { $0.count(in: 1...10_000) } ?? 200
        self.target = section.read(.target) { $0.size(in: sizes) } ?? 8 << 10
        let connections = section.read(.connections) { $0.count(in: 1...1_000_000) }
        self.connections = connections ?? 10_000
        self.namesConnections = connections != nil
        self.connectionsPerAddress = section.read(.connectionsPerAddress) { $0.count(in: 0...1_000_000) } ?? 0
        self.waiters = section.read(.waiters) { $0.count(in: 1...1_000_000) } ?? 10_000
        self.replayMemory = section.read(.replayMemory) { $0.size(in: 0...(64 << 30)) } ?? 64 << 20
        // Whoever needs more than that to say what it wants holds a place for nothing.
        let beginnings = Duration.milliseconds(100)...(.minutes(10))
        self.headerTimeout = section.read(.headerTimeout) { $0.duration(in: beginnings) } ?? .seconds(10)
        self.handshakeTimeout = section.read(.handshakeTimeout) { $0.duration(in: beginnings) } ?? .seconds(10)
        self.bodyRate = section.read(.bodyRate) { $0.size(in: 0...(1 << 20)) } ?? 1 << 10
        self.idleTimeout =
            section.read(.idleTimeout) { $0.duration(in: .milliseconds(100)...(.hours(24))) } ?? .minutes(1)
    }
}
