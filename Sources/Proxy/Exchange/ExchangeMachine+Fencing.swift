/// What ``ExchangeMachine/fenced(_:)`` goes by, and what comes of it.
extension ExchangeMachine {
    /// How far a kill concerns an exchange.
    package struct Reach: Equatable, Sendable {
        /// Its upstream connection carries a token that is dead now.
        package var carriesDead: Bool
        /// With that it may go on to its end, since the head has left.
        package var mayEnd: Bool
        /// No token may come for its account.
        package var isKilled: Bool

        package init(carriesDead: Bool, mayEnd: Bool, isKilled: Bool) {
            self.carriesDead = carriesDead
            self.mayEnd = mayEnd
            self.isKilled = isKilled
        }
    }

    package enum Fenced: Equatable, Sendable {
        /// The upstream connection goes, where there is one, and the caller is told.
        case answer
        /// The upstream connection goes, and the answer that was held back with it; another token may come yet.
        case loseHeldAnswer
        /// Response bytes went out: both connections are reset, so that the caller sees that the answer is not whole.
        case abort
        case drain
        case ignore
    }
}
