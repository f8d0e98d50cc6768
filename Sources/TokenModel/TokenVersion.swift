/// Which token set of which grant: what a request carried, and what at most one refresh is ever spent on.
package struct TokenVersion: Hashable, Sendable {
    package let grant: GrantID
    package let generation: Generation

    package init(grant: GrantID, generation: Generation) {
        self.grant = grant
        self.generation = generation
    }

    /// The token set of `credential`.
    package init(_ credential: UpstreamCredential) {
        self.init(grant: credential.grant, generation: credential.generation)
    }
}
