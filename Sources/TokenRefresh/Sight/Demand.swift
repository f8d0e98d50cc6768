package import TokenModel

/// What somebody wants of an account beyond a usable token.
package struct Demand: Equatable, Sendable {
    /// The token set an upstream answered 401 to: it counts as expired.
    package var refused: TokenMark?
    /// The token set that is to be replaced before it ends: nobody waits for that, so it is still handed out, and what
    /// speaks against a refresh counts.
    package var ripe: TokenMark?
    /// An operator asked for a refresh: also of a valid token, and at once after a setback.
    package var isForced: Bool

    package init(refused: TokenMark? = nil, ripe: TokenMark? = nil, isForced: Bool = false) {
        self.refused = refused
        self.ripe = ripe
        self.isForced = isForced
    }

    /// Any token that is good.
    package static let usable = Demand()
    /// A refresh now.
    package static let forced = Demand(isForced: true)
}
