package import TokenModel
package import TokenStorage

/// What the engine asks of the kill switch.
package protocol KillReader: Sendable {
    /// The kills there are, by a read of the log that began after this call. This process is fenced against all of them.
    func read() async throws(StoreError) -> KillEpochs

    /// Tells all replicas that an account has other tokens by an import, or, where there is no `grant`, that those it had
    /// are dead. Durable, and heeded by this process, when it returns.
    func changed(_ account: AccountID, grant: GrantID?) async throws(StoreError)

    /// The grant that the last import into the account began, as far as this process has read the log; `nil` where there was
    /// none. Nothing is read: this may be asked while the log is being followed.
    func lastImport(of account: AccountID) -> GrantID?

    /// Has the tokens of a record revoked that is about to be written over, or that never got a place, if they were
    /// killed: nobody would find them afterwards. Harmless where that was done before.
    ///
    /// - Throws: where they can't be written down for that.
    func takeAway(_ record: AccountRecord, of account: AccountID) async throws(StoreError)

    /// Tokens of an account that were taken away before, by whatever, and that their providers have not revoked yet: each
    /// is unreachable by now, and its provider is asked by itself.
    ///
    /// - Parameter settled: tokens that are not among them, whatever is written down: their providers have just been asked.
    func unrevoked(of account: AccountID, besides settled: [Secret]) async throws(StoreError) -> [ForgottenToken]

    /// Tokens were stored that were dead by then: they are to be revoked.
    func storedDead()
}
