package import KillSwitch
internal import OAuth
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

    package func lastImport(of account: AccountID) -> GrantID? { self.lastReplacement(of: account) }

    package func takeAway(_ record: AccountRecord, of account: AccountID) async throws(StoreError) {
        try await self.takeAway(tokensOf: record, account)
    }

    package func unrevoked(
        of account: AccountID,
        besides settled: [Secret]
    ) async throws(StoreError) -> [ForgottenToken] {
        try await self.tokensToRevoke(of: account, besides: settled).map { token in
            ForgottenToken(
                kind: token.kind,
                verdict: .unreachable(token.reason),
                endsAt: token.endsAt,
                nextTryAt: token.nextTryAt
            )
        }
    }

    package func storedDead() { self.lookForKilledTokens() }
}
