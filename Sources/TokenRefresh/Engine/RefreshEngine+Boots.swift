internal import Logging
internal import TokenModel
internal import TokenStorage

/// What this host's disk knows: who has ended, and what they left.
extension RefreshEngine {
    /// Whether a record that was read carries the claim of another incarnation that has ended for certain.
    func isHolderDead(_ result: Result<AccountVault.Entry?, StoreError>) async -> Bool {
        guard let claim = (try? result.get())?.record.claim, claim.incarnation != self.incarnation else { return false }
        return await self.host.isDead(claim.incarnation)
    }

    func log(isJournalled: Bool, _ account: AccountID) {
        if isJournalled {
            self.logger.warning(
                "new tokens stand in the journal until the store takes them",
                metadata: [LogField.account: "\(account)"]
            )
        } else {
            self.logger.error(
                "the journal can't be written either: new tokens are in this process alone",
                metadata: [LogField.account: "\(account)"]
            )
        }
    }
}
