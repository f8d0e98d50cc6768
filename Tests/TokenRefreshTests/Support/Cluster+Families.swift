import ProviderClient
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

extension AccountFamilyConfiguration {
    /// The family `customer-*`.
    static func customers(
        at endpoint: any TokenEndpoint,
        of provider: ProviderID = acme,
        pattern: String = "customer-*",
        grant: AccountGrant = .refreshToken,
        max: Int = 2_000,
        timing: RefreshTiming = RefreshTiming(),
        rate: RefreshRate = RefreshRate()
    ) throws -> AccountFamilyConfiguration {
        let member = AccountConfiguration(
            account: AccountID(pattern),
            provider: provider,
            grant: grant,
            endpoint: endpoint,
            timing: timing,
            rate: rate
        )
        return AccountFamilyConfiguration(try #require(AccountFamily(pattern: pattern)), member: member, max: max)
    }
}

extension AccountID {
    /// A member of the family `customer-*`.
    static func customer(_ number: Int) -> AccountID { AccountID("customer-\(number)") }
}

extension AccountRecord {
    /// The record of an account of a ``FamilyTokenEndpoint``, as imported a while ago.
    ///
    /// - Parameter isValid: whether the access token is valid for an hour from the start; otherwise it has ended an hour
    ///   before.
    static func member(_ account: AccountID, isValid: Bool = false) -> AccountRecord {
        (isValid ? AccountRecord.valid() : .expired()).with {
            $0.tokens?.accessToken = Secret("at-\(account)-0")
            $0.tokens?.refreshToken = Secret("rt-\(account)-0")
            $0.imported = [TokenDigest(of: Secret("rt-\(account)-0"))]
        }
    }
}

extension AccountImport {
    /// The first refresh token of an account of a ``FamilyTokenEndpoint``.
    static func first(of account: AccountID) -> AccountImport {
        AccountImport(account, refreshToken: Secret("rt-\(account)-0"))
    }
}

extension Cluster {
    /// Runs a replica with one family until `body` has ended.
    @discardableResult
    func withFamily<Result: Sendable>(
        _ family: AccountFamilyConfiguration,
        named: [AccountConfiguration] = [],
        limits: RefreshLimits = RefreshLimits(),
        random: @escaping @Sendable () -> Double = { 1 },
        _ body: (Replica) async throws -> Result
    ) async throws -> Result {
        try await self.withReplica(named, families: [family], of: [], limits: limits, random: random, body)
    }

    /// The number of calls of the store about `account`.
    func calls(of account: AccountID) -> Int {
        self.store.calls.count { $0.place == RecordKey.account(account.rawValue).rawValue }
    }

    /// Lets this process know the kills as they are changed to.
    func apply(_ replica: Replica, _ change: (inout KillEpochs) -> Void) {
        replica.engine.apply(self.kills.change(change))
    }
}
