import TokenModel

/// A loop's question for a pass, on its way to the ``PassSource``.
struct PassRequest: Sendable {
    let account: AccountID
    let refused: TokenMark?
    let answer: @Sendable (Result<Pass, PassError>) -> Void
}
