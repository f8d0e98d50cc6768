internal import SignIn
internal import TokenModel

/// A sign-in as the API shows it. Every member is always present; a member without a value is `null`.
struct SignInResponse: Encodable, Sendable {
    private let report: SignInReport

    init(_ report: SignInReport) {
        self.report = report
    }

    private enum Key: String, CodingKey {
        case id, account, provider, way, state, url, scopes, error
        case userCode = "user_code"
        case verificationURI = "verification_uri"
        case verificationURIComplete = "verification_uri_complete"
        case missingScopes = "missing_scopes"
        case startedAt = "started_at"
        case expiresAt = "expires_at"
        case endedAt = "ended_at"
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(self.report.id.rawValue, forKey: .id)
        try members.encode(self.report.account.rawValue, forKey: .account)
        try members.encode(self.report.provider.rawValue, forKey: .provider)
        try members.encode(self.report.way.rawValue, forKey: .way)
        try members.encode(self.report.state.rawValue, forKey: .state)
        try members.encode(self.report.url, forKey: .url)
        try members.encode(self.report.userCode, forKey: .userCode)
        try members.encode(self.report.verificationURI, forKey: .verificationURI)
        try members.encode(self.report.verificationURIComplete, forKey: .verificationURIComplete)
        try members.encode(self.report.scopes, forKey: .scopes)
        try members.encode(self.report.missingScopes, forKey: .missingScopes)
        try members.encode(self.report.failure.map(Failure.init), forKey: .error)
        try members.encode(self.report.startedAt.rfc3339, forKey: .startedAt)
        try members.encode(self.report.expiresAt.rfc3339, forKey: .expiresAt)
        try members.encode(self.report.endedAt?.rfc3339, forKey: .endedAt)
    }

    private struct Failure: Encodable {
        let code: String
        let message: String

        init(_ failure: SignInFailure) {
            self.code = failure.code.rawValue
            self.message = failure.message
        }
    }
}
