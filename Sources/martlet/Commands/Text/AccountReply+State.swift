extension AccountReply {
    /// Whether its first access token is still to be fetched: nothing has ended, and the first use fetches one. The admin
    /// API has one word for this and for a token that has ended.
    package var isUnfetched: Bool { self.state == "expired" && self.expiresAt == nil }

    /// The state as people read it.
    package var stateText: String { self.isUnfetched ? Self.unfetched : self.state }

    /// What ``stateText`` calls an account without its first access token.
    package static let unfetched = "not fetched yet"
}
