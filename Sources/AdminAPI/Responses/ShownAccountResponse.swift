internal import TokenRefresh

/// One account as all answers have it, and which of its tokens are still to be revoked.
struct ShownAccountResponse: Encodable, Sendable {
    private let account: AccountResponse
    private let unrevoked: [ForgottenResponse.Token]

    init(_ status: AccountStatus, unrevoked tokens: [ForgottenToken]) {
        self.account = AccountResponse(status)
        self.unrevoked = tokens.map { ForgottenResponse.Token($0) }
    }

    private enum Key: String, CodingKey { case unrevoked }

    func encode(to encoder: any Encoder) throws {
        try self.account.encode(to: encoder)
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(self.unrevoked, forKey: .unrevoked)
    }
}
