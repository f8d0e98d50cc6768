import ProviderClient
import Synchronization
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

    /// Lets at least `duration` pass, from sleeper to sleeper, so that each task does at its time what it has to do.
    ///
    /// - Parameter isDone: ends it earlier.
    func pass(_ duration: Duration, _ replica: Replica, until isDone: @escaping @Sendable () -> Bool = { false })
        async throws
    {
        let end = self.clock.now.advanced(by: duration)
        // A task that is about to sleep would be late. So a long step is made only after nothing else was seen for a while.
        let seen = Mutex<(wake: BootInstant?, times: Int)>((nil, 0))
        try await eventually("\(duration) to pass", limit: .seconds(120)) {
            let now = self.clock.now
            if now >= end || isDone() { return true }
            let step = replica.engine.flightCount > 0 ? Duration.seconds(1) : .seconds(1_000_000)
            guard let wake = self.clock.nextWake(within: step) else { return false }
            let times = seen.withLock { seen in
                seen = (wake, seen.wake == wake ? seen.times + 1 : 1)
                return seen.times
            }
            if times >= 10 || now.duration(to: wake) <= .seconds(1) { self.clock.advance(by: now.duration(to: wake)) }
            return false
        }
    }

    /// Lets this process know the kills as they are changed to.
    func apply(_ replica: Replica, _ change: (inout KillEpochs) -> Void) {
        replica.engine.apply(self.kills.change(change))
    }
}
