package import OAuth
package import TokenModel

/// What became of a token that is not kept any more.
package struct ForgottenToken: Equatable, Sendable {
    package let kind: RevocableToken
    package let verdict: RevocationVerdict
    /// When it ends by itself, where that is known.
    package let endsAt: WallTime?

    package init(kind: RevocableToken, verdict: RevocationVerdict, endsAt: WallTime?) {
        self.kind = kind
        self.verdict = verdict
        self.endsAt = endsAt
    }
}
