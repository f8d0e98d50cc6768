/// The keys of `limits`.
enum LimitKey: String, Vocabulary {
    case head, field, fields, target, waiters

    static let later = [
        "connections", "connections_per_address", "replay_memory", "header_timeout", "handshake_timeout", "body_rate",
        "idle_timeout",
    ]
}

extension LimitSettings {
    init(_ section: Section<LimitKey>) {
        // Less than a browser sends helps nobody; more than 1 MiB of head is memory that a stranger holds.
        let sizes = 256...(1 << 20)
        self.head = section.read(.head) { $0.size(in: sizes) } ?? 32 << 10
        self.field = section.read(.field) { $0.size(in: sizes) } ?? 16 << 10
        self.fields = section.read(.fields) { $0.count(in: 1...10_000) } ?? 100
        self.target = section.read(.target) { $0.size(in: sizes) } ?? 8 << 10
        self.waiters = section.read(.waiters) { $0.count(in: 1...1_000_000) } ?? 10_000
    }
}
