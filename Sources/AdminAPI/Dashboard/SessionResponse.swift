/// A session that has begun.
struct SessionResponse: Encodable, Sendable {
    /// What the page keeps, and sends as `Martlet-Session`.
    let key: String
    /// Who has signed in, as the page shows it.
    let name: String
    /// By which the page shows what they may do.
    let role: String

    init(_ ticket: SessionStore.Ticket, _ administrator: Administrator) {
        self.key = ticket.key.unredactedText
        self.name = administrator.name
        self.role = administrator.role.rawValue
    }
}

/// A session that has ended.
struct SessionEndResponse: Encodable, Sendable {
    let signedOut = true

    private enum CodingKeys: String, CodingKey { case signedOut = "signed_out" }
}
