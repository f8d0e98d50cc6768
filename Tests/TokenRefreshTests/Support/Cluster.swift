import ProviderClient
import Simulation
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// One store that the replicas of a test share, in simulated time.
struct Cluster: Sendable {
    let clock = Simulation.running
    let store: FaultyTokenStore
    let records: SealedRecords
    let vault: AccountVault
    let log = RecordingLog()
    let kills = ScriptedKills()
    /// The kill reader in place of ``kills``, if set.
    var reader: (any KillReader)?
    /// How the replicas know which incarnations have ended, and the journal for tokens that the store does not accept.
    var witness: (any IncarnationWitness)?
    var journal: (any SuccessJournal)?
    /// The endpoints of configured providers without accounts.
    var endpoint: @Sendable (AccountRecord.Binding) -> (any TokenEndpoint)? = { _ in nil }
    /// The events for operators from all replicas.
    let told = OperatorEvents()

    init(store: FaultyTokenStore = FaultyTokenStore()) {
        self.store = store
        self.records = SealedRecords(store: store, keyRing: KeyRing(current: .random()), storeID: .random())
        self.vault = AccountVault(self.records)
    }

    /// Writes a record into the store like another process.
    func put(_ record: AccountRecord, for account: AccountID = alice) async throws {
        let current = try await self.vault.read(account)
        _ = try await self.vault.write(record, for: account, expecting: current?.version)
    }

    func record(of account: AccountID = alice) async throws -> AccountRecord? {
        try await self.vault.read(account)?.record
    }

    /// Runs a replica until `body` has ended.
    @discardableResult
    func withReplica<Result: Sendable>(
        _ endpoint: ScriptedTokenEndpoint,
        accounts: [AccountID] = [alice],
        grant: AccountGrant = .refreshToken,
        timing: RefreshTiming = RefreshTiming(),
        limits: RefreshLimits = RefreshLimits(),
        _ body: (Replica) async throws -> Result
    ) async throws -> Result {
        let plans = accounts.map {
            AccountConfiguration(account: $0, provider: acme, grant: grant, endpoint: endpoint, timing: timing)
        }
        return try await self.withReplica(plans, of: [endpoint], limits: limits, body)
    }

    /// Runs a replica with accounts of several providers until `body` has ended.
    ///
    /// - Parameters:
    ///   - families: if there are any, the stored accounts are indexed first.
    ///   - endpoints: all scripted endpoints in `plans` and `families`.
    ///   - random: the jitter.
    @discardableResult
    func withReplica<Result: Sendable>(
        _ plans: [AccountConfiguration],
        families: [AccountFamilyConfiguration] = [],
        of endpoints: [ScriptedTokenEndpoint],
        limits: RefreshLimits = RefreshLimits(),
        random: @escaping @Sendable () -> Double = { 1 },
        _ body: (Replica) async throws -> Result
    ) async throws -> Result {
        let clock = self.clock
        let told = self.told
        let events = EventList()
        let engine = RefreshEngine(
            plans: plans,
            families: families,
            vault: self.vault,
            kills: self.reader ?? self.kills,
            incarnation: .random(),
            host: PartialHostState(witness: self.witness, journal: self.journal),
            limits: limits,
            timepiece: clock.timepiece,
            logger: self.log.logger,
            random: random,
            endpoint: self.endpoint,
            onEvent: { told.append($0) },
            onCredential: { events.append($0) }
        )
        if !families.isEmpty {
            engine.apply(try await (self.reader ?? self.kills).read())
            try await engine.indexAccounts()
        }
        let followers = self.store.followerCount
        let running = Task(executorPreference: Simulation.running) { await engine.run() }
        let replica = Replica(engine: engine, running: running, eventList: events)
        do {
            // A hint from before would be lost.
            if !families.isEmpty {
                try await until("the hints") { self.store.followerCount > followers }
            }
            let result = try await body(replica)
            await self.end(replica, endpoints)
            return result
        } catch {
            await self.end(replica, endpoints)
            throw error
        }
    }

    private func end(_ replica: Replica, _ endpoints: [ScriptedTokenEndpoint]) async {
        replica.running.cancel()
        for endpoint in endpoints { endpoint.release() }
        await replica.running.value
    }
}

/// The events that a replica sent to its credential caches, in order.
final class EventList: Sendable {
    private let events = Mutex<[CredentialEvent]>([])
    var all: [CredentialEvent] { self.events.withLock { $0 } }
    func append(_ event: CredentialEvent) { self.events.withLock { $0.append(event) } }
}

/// The events for operators, in order.
final class OperatorEvents: Sendable {
    private let events = Mutex<[RefreshEvent]>([])
    var all: [RefreshEvent] { self.events.withLock { $0 } }
    func append(_ event: RefreshEvent) { self.events.withLock { $0.append(event) } }

    /// The events as text, such as `refresh_failed alice`, or `provider_config *` for all accounts of a provider.
    var lines: [String] { self.all.map { "\($0.kind.rawValue) \($0.account?.rawValue ?? "*")" } }
}

/// One engine and the task that runs it.
struct Replica: Sendable {
    let engine: RefreshEngine
    let running: Task<Void, Never>
    fileprivate let eventList: EventList

    var events: [CredentialEvent] { self.eventList.all }

    /// Waits until no flight is in progress. A caller may have been served by a read before the flight ended.
    func hasLanded() async throws {
        try await until("no flight to be under way", within: .seconds(1)) { self.engine.flightCount == 0 }
    }

    /// Requests a credential in a separate task.
    func ask(_ account: AccountID = alice, refused: Generation? = nil) -> Asked {
        let engine = self.engine
        return Asked(
            task: Task(executorPreference: Simulation.running) {
                do throws(CredentialError) {
                    return .credential(try await engine.credential(for: account, refused: refused))
                } catch {
                    return .error(error.code)
                }
            }
        )
    }
}

/// A request for a credential that is in progress.
struct Asked: Sendable {
    let task: Task<Answer, Never>

    var value: Answer {
        get async {
            // A test that goes round in circles for want of an answer can be cancelled.
            await withTaskCancellationHandler {
                await self.task.value
            } onCancel: {
                self.task.cancel()
            }
        }
    }

    func cancel() { self.task.cancel() }
}

/// The result of a request for a credential.
enum Answer: Equatable, Sendable {
    case credential(UpstreamCredential)
    case error(CredentialError.Code)

    var generation: Generation? {
        if case .credential(let credential) = self { return credential.generation }
        return nil
    }
}
