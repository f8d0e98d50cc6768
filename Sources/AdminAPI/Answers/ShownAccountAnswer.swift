internal import TokenRefresh

/// One account as all answers have it, and which of its tokens are still to be revoked.
struct ShownAccountAnswer: Encodable, Sendable {
    private let account: AccountAnswer
    private let unrevoked: [ForgottenAnswer.Token]

    init(_ status: AccountStatus, unrevoked tokens: [ForgottenToken]) {
        self.account = AccountAnswer(status)
        self.unrevoked = tokens.map { ForgottenAnswer.Token($0) }
    }

    private enum Key: String, CodingKey { case unrevoked }

    func encode(to encoder: any Encoder) throws {
        try self.account.encode(to: encoder)
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(self.unrevoked, forKey: .unrevoked)
    }
}
