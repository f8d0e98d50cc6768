package import TokenModel

/// What is known of an upstream for the question whether a large body is worth asking for: its answer to the token
/// can't be foreseen, and it can be expected to say `100 Continue`.
package struct Expectations {
    /// How long an upstream that took a token will take it again.
    package static let tokenMemory = Duration.seconds(10)
    /// How long an upstream that knows no expectations is not asked again.
    package static let refusalMemory = Duration.seconds(600)

    private struct Taken {
        var token: TokenMark
        var at: Tick
    }

    /// By slot.
    private var taken: [Taken?] = []
    private var refusedAt: Tick?

    package init() {}

    package func mayExpect(_ token: TokenMark, slot: Int, at now: Tick) -> Bool {
        if let refusedAt = self.refusedAt, now.duration(since: refusedAt) < Self.refusalMemory { return false }
        guard slot < self.taken.count, let taken = self.taken[slot], taken.token == token else { return true }
        return now.duration(since: taken.at) >= Self.tokenMemory
    }

    /// The upstream ignored an expectation, or refused it.
    package mutating func refused(at now: Tick) { self.refusedAt = now }

    /// The upstream took a token. Called for each answer, so that it does nothing more than once in a tick.
    package mutating func took(_ token: TokenMark, slot: Int, at now: Tick) {
        if slot < self.taken.count, self.taken[slot]?.at == now,
            self.taken[slot]?.token.generation.rawValue == token.generation.rawValue
        {
            return
        }
        while self.taken.count <= slot { self.taken.append(nil) }
        self.taken[slot] = Taken(token: token, at: now)
    }

    /// The upstream takes it no more.
    package mutating func forget(_ token: TokenMark, slot: Int) {
        guard slot < self.taken.count, self.taken[slot]?.token == token else { return }
        self.taken[slot] = nil
    }
}
