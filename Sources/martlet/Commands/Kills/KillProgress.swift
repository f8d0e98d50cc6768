package import TokenModel

/// Who a kill still waits for, said while it does: each second in place on a terminal, elsewhere when that changes and
/// every five seconds.
package struct KillProgress: Sendable {
    private let isTerminal: Bool
    private var names: [String] = []
    private var saidAt: BootInstant?

    private static let interval = Duration.seconds(5)

    package init(isTerminal: Bool) {
        self.isTerminal = isTerminal
    }

    /// What is to be written, with the end of its line; `nil` for nothing.
    ///
    /// - Parameter kill: `nil` where it is not known how far it has come.
    package mutating func text(_ kill: KillReply?, times: RelativeTime, now: BootInstant) -> String? {
        let missing = kill?.replicas.filter { $0.state == "pending" } ?? []
        guard !missing.isEmpty else { return nil }
        let who = missing.map { replica in
            "\(replica.name) (its lease ends \(replica.until.map { times.text($0) } ?? "at a time that nobody knows"))"
        }
        let line = PlainText.line("pending: waiting for \(who.joined(separator: ", "))")
        if self.isTerminal {
            self.saidAt = now
            return "\r\u{1B}[K\(line)"
        }
        let names = missing.map(\.name)
        if names == self.names, let saidAt, saidAt.duration(to: now) < Self.interval { return nil }
        (self.names, self.saidAt) = (names, now)
        return "martlet: \(line)\n"
    }

    /// Takes away what stands on a terminal's line.
    package var end: String? { self.isTerminal && self.saidAt != nil ? "\r\u{1B}[K" : nil }
}
