/// A session that has begun.
struct SessionAnswer: Encodable, Sendable {
    /// What the page keeps, and sends as `Martlet-Session`.
    let key: String
}

/// A session that has ended.
struct SessionEndAnswer: Encodable, Sendable {
    let signedOut = true

    private enum CodingKeys: String, CodingKey { case signedOut = "signed_out" }
}
