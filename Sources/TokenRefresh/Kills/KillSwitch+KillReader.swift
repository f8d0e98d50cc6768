package import KillSwitch
package import TokenModel
package import TokenStorage

extension KillSwitch: KillReader {
    package func changed(_ account: AccountID, grant: GrantID?) async throws(StoreError) {
        if let grant {
            try await self.replaced(account, by: grant)
        } else {
            try await self.removed(account)
        }
    }

    package func takeAway(_ record: AccountRecord, of account: AccountID) async throws(StoreError) {
        try await self.takeAway(tokensOf: record, account)
    }

    package func storedDead() { self.lookForKilledTokens() }
}
