package import TokenModel

/// What a kill stops within this process: whoever holds tokens in memory, or is about to get some.
package protocol KillFence: Sendable {
    /// Takes up `epochs`: from its return on nothing with a token that is dead by them is written, and what waits for
    /// one has been told. Requests under way with such tokens are cut, but for those that ``KillEpochs/mayEnd(with:of:at:)``.
    ///
    /// - Returns: how many requests with dead tokens were left to end.
    func fence(_ epochs: KillEpochs) async -> Int

    /// An account has other tokens by an import: what is kept of it in memory is read anew.
    func replaced(_ account: AccountID) async

    /// Tokens may be put into requests until `instant`. Each call replaces the one before; before the first none may.
    func setLeaseDeadline(_ instant: BootInstant)
}
