/// Which token set of which grant: what a request carried, and what at most one refresh is ever spent on.
package struct TokenMark: Hashable, Sendable {
    package let grant: GrantID
    package let generation: Generation

    package init(grant: GrantID, generation: Generation) {
        self.grant = grant
        self.generation = generation
    }

    /// The token set of `pass`.
    package init(_ pass: Pass) {
        self.init(grant: pass.grant, generation: pass.generation)
    }
}
