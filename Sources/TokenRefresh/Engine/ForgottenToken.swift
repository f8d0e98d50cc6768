package import OAuth
package import TokenModel

/// What became of a token that is not kept any more.
package struct ForgottenToken: Equatable, Sendable {
    package let kind: RevocableToken
    package let verdict: RevocationVerdict
    /// When it ends by itself, where that is known.
    package let endsAt: WallTime?
    /// When its provider is asked again, where that is known.
    package let nextTryAt: WallTime?

    package init(kind: RevocableToken, verdict: RevocationVerdict, endsAt: WallTime?, nextTryAt: WallTime? = nil) {
        self.kind = kind
        self.verdict = verdict
        self.endsAt = endsAt
        self.nextTryAt = nextTryAt
    }
}
