package import TokenModel

/// What somebody wants of an account beyond a usable token.
package struct RefreshRequest: Equatable, Sendable {
    /// The token set an upstream answered 401 to: it counts as expired.
    package var refused: TokenVersion?
    /// The token set that is to be replaced before it ends: nobody waits for that, so it is still handed out, and what
    /// speaks against a refresh counts.
    package var ripe: TokenVersion?
    /// An operator asked for a refresh: also of a valid token, and at once after a failure.
    package var isForced: Bool

    package init(refused: TokenVersion? = nil, ripe: TokenVersion? = nil, isForced: Bool = false) {
        self.refused = refused
        self.ripe = ripe
        self.isForced = isForced
    }

    /// Any token that is good.
    package static let usable = RefreshRequest()
    /// A refresh now.
    package static let forced = RefreshRequest(isForced: true)
}
