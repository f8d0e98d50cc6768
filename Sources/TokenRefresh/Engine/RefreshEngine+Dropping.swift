internal import Logging
internal import OAuth
package import TokenModel
package import TokenStorage

/// Tokens that were issued for an account and are not stored.
extension RefreshEngine {
    /// Has tokens revoked that nobody holds. If they are dead, they count for the kill. A provider that can't be asked now
    /// is asked again for a day.
    ///
    /// Tokens that the account has are left alone: some providers issue the same ones again.
    ///
    /// - Parameter spares: leaves live tokens to expire, since the provider would end other grants with them.
    package func revoke(
        dropped record: AccountRecord,
        of account: AccountID,
        spares: Bool = false
    ) async -> DroppedTokens {
        guard let tokens = record.tokens else { return .revoked }
        if case .success(let entry?) = await self.read(account), let stored = entry.record.tokens {
            // Revoking its access token may end the whole grant (RFC 7009 §2.1).
            if let refreshToken = tokens.refreshToken, refreshToken == stored.refreshToken { return .inUse }
            if let accessToken = tokens.accessToken, accessToken == stored.accessToken { return .inUse }
        }
        let verdict = (try? await self.kills.read())?.verdict(on: record, of: account, at: record.binding.provider)
        let isDead = verdict.map { $0 != .live } ?? false
        if !isDead {
            guard !spares else { return .left }
            let outcome = await self.revokeNow(record)
            guard outcome == .waiting else { return outcome }
        }
        do throws(StoreError) {
            try await self.kills.storeForRevocation(dropped: record, of: account)
            return .waiting
        } catch {
            let outcome = isDead ? await self.revokeNow(record) : .waiting
            guard outcome == .waiting else { return outcome }
            self.logger.error(
                "tokens were dropped, and neither their provider nor the store could be reached to revoke them",
                metadata: [LogField.account: "\(account)", LogField.code: "\(error.code.rawValue)"]
            )
            return .lost
        }
    }

    private func revokeNow(_ record: AccountRecord) async -> DroppedTokens {
        guard let tokens = record.tokens else { return .revoked }
        let outcomes = await self.revoke(tokens, at: self.revoker(of: record.binding))
        if outcomes.contains(where: \.isUnreachable) { return .waiting }
        return outcomes.allSatisfy { $0.verdict == .revoked } ? .revoked : .refused
    }
}

/// What became of tokens that were issued and not stored.
package enum DroppedTokens: Equatable, Sendable {
    /// The provider has revoked them.
    case revoked
    /// The provider does not revoke one of them.
    case refused
    /// The provider is going to be asked.
    case waiting
    /// They are those that the account has.
    case inUse
    /// They are left to expire.
    case left
    /// Neither the provider nor the store could be told of them.
    case lost
}
