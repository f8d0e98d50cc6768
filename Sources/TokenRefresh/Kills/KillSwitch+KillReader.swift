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

    package func storedDead() { self.lookForKilledTokens() }
}
