package import TokenModel

/// The part of this process that a kill stops: everything that holds tokens in memory or is about to get some.
package protocol KillFence: Sendable {
    /// Applies `epochs`. After it returns, no request with a token that `epochs` kills is written, and requests that
    /// wait for such a token have been told. Requests in progress with such tokens are aborted, except those that
    /// ``KillEpochs/mayEnd(with:of:at:)`` allows to finish.
    ///
    /// - Returns: how many requests with dead tokens were left to finish.
    func fence(_ epochs: KillEpochs) async -> Int

    /// An import has replaced the account's tokens: what memory holds of the account is read again.
    func replaced(_ account: AccountID) async

    /// Tokens may be put into requests until `instant`. Each call replaces the one before. Before the first call no
    /// token may be used.
    func setLeaseDeadline(_ instant: BootInstant)
}
