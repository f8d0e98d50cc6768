/// What has been spent of the second chances a request has.
struct Attempts {
    /// How often a request may find its pass ended when its connection is ready.
    static let lapseLimit = 3

    /// It is being sent again after a dead token. Once is all.
    var isReplay = false
    /// It is being sent again after a stale connection. Once is all.
    var isRetry = false
    /// It is being sent again without an expectation, which an upstream has refused. Once is all.
    var hasDroppedExpectation = false
    var lapses = 0
}
