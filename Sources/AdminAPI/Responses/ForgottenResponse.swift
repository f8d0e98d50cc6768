internal import OAuth
internal import TokenModel
internal import TokenRefresh

/// An account whose tokens were forgotten, and what its provider did with each of them.
struct ForgottenResponse: Encodable, Sendable {
    let account: AccountResponse
    let tokens: [Token]

    init(_ account: AccountStatus, _ tokens: [ForgottenToken]) {
        self.account = AccountResponse(account)
        self.tokens = tokens.map(Token.init)
    }

    /// The outcomes of the tokens, in one line.
    static func summary(of tokens: [ForgottenToken]) -> String {
        tokens.map { Token($0) }.map { "\($0.kind) \($0.outcome)" }.joined(separator: ", ")
    }

    struct Token: Encodable, Sendable {
        let kind: String
        let outcome: String
        let reason: String?
        let endsAt: String?
        let nextTryAt: String?

        init(_ token: ForgottenToken) {
            self.kind =
                switch token.kind {
                case .refreshToken: "refresh"
                case .accessToken: "access"
                }
            switch token.verdict {
            case .revoked: (self.outcome, self.reason) = ("revoked", nil)
            case .refused(let reason): (self.outcome, self.reason) = ("refused", reason.rawValue)
            case .clientRefused(let reason): (self.outcome, self.reason) = ("client_refused", reason.rawValue)
            case .unsupported: (self.outcome, self.reason) = ("unsupported", nil)
            case .unreachable(let reason): (self.outcome, self.reason) = ("unreachable", reason.rawValue)
            }
            self.endsAt = token.endsAt?.rfc3339
            self.nextTryAt = token.nextTryAt?.rfc3339
        }

        private enum Key: String, CodingKey {
            case kind, outcome, reason
            case endsAt = "ends_at"
            case nextTryAt = "next_try_at"
        }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            try members.encode(self.kind, forKey: .kind)
            try members.encode(self.outcome, forKey: .outcome)
            try members.encode(self.reason, forKey: .reason)
            try members.encode(self.endsAt, forKey: .endsAt)
            try members.encode(self.nextTryAt, forKey: .nextTryAt)
        }
    }
}
