package import OAuth
package import TokenModel

/// A token that was taken away from its account, and that its provider has not revoked yet.
package struct UnrevokedToken: Equatable, Sendable {
    package let kind: RevocableToken
    /// Whether its provider is asked by itself, or can't be.
    package let reason: VerdictReason
    /// When it ends by itself, where that is known.
    package let endsAt: WallTime?
    /// When this process asks again; `nil` while it does, and where it does not know.
    package let nextTryAt: WallTime?
}
