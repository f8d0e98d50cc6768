package import TokenModel

/// What the data path asks of whoever refreshes tokens.
package protocol PassSource: Sendable {
    /// Sees to it that `account` has a usable pass, by a refresh if need be, and names it.
    ///
    /// The pass has been announced to the event loops (``PassEvent``) before this returns. When `refused` is still the
    /// account's current generation although an upstream refused it, and no refresh is due, that same pass comes back.
    func pass(for account: AccountID, refused: Refused?) async throws(PassError) -> Pass
}

/// The token set that an upstream answered as dead.
package struct Refused: Hashable, Sendable {
    package let grant: GrantID
    package let generation: Generation

    package init(grant: GrantID, generation: Generation) {
        self.grant = grant
        self.generation = generation
    }

    init(_ pass: Pass) {
        self.init(grant: pass.grant, generation: pass.generation)
    }
}

/// What the event loops' slots follow.
package enum PassEvent: Sendable {
    case installed(Pass)
    case dropped(AccountID)
}
