import ProviderClient
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// One store and one clock, and the replicas that share them.
struct House: Sendable {
    let clock = ManualClock()
    let store: FaultyTokenStore
    let records: SealedRecords
    let vault: AccountVault
    let log = HeardLog()
    let kills = ScriptedKills()
    /// In place of these.
    var reader: (any KillReader)?
    /// What its replicas know of incarnations that have ended, and where they keep what the store does not take.
    var witness: (any IncarnationWitness)?
    var journal: (any SuccessJournal)?
    /// The providers of the configuration that have no account.
    var endpoint: @Sendable (AccountRecord.Binding) -> (any TokenEndpoint)? = { _ in nil }
    /// What operators were told by all replicas.
    let told = ToldEvents()

    init(store: FaultyTokenStore = FaultyTokenStore()) {
        self.store = store
        self.records = SealedRecords(store: store, keyRing: KeyRing(current: .random()), storeID: .random())
        self.vault = AccountVault(self.records)
    }

    /// Puts a record there as another process does.
    func put(_ record: AccountRecord, for account: AccountID = alice) async throws {
        let current = try await self.vault.read(account)
        _ = try await self.vault.write(record, for: account, expecting: current?.version)
    }

    func record(of account: AccountID = alice) async throws -> AccountRecord? {
        try await self.vault.read(account)?.record
    }

    /// Runs a replica for as long as `body` does.
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

    /// The same with accounts of several providers.
    ///
    /// - Parameter endpoints: all there are in `plans`.
    @discardableResult
    func withReplica<Result: Sendable>(
        _ plans: [AccountConfiguration],
        of endpoints: [ScriptedTokenEndpoint],
        limits: RefreshLimits = RefreshLimits(),
        _ body: (Replica) async throws -> Result
    ) async throws -> Result {
        let clock = self.clock
        let told = self.told
        let events = EventList()
        let engine = RefreshEngine(
            plans: plans,
            vault: self.vault,
            kills: self.reader ?? self.kills,
            incarnation: .random(),
            host: PartialHostState(witness: self.witness, journal: self.journal),
            limits: limits,
            timepiece: Timepiece(ages: clock, wall: { clock.wall }),
            logger: self.log.logger,
            random: { 1 },
            endpoint: self.endpoint,
            onEvent: { told.append($0) },
            onCredential: { events.append($0) }
        )
        let running = Task { await engine.run() }
        let replica = Replica(engine: engine, running: running, eventList: events)
        do {
            let result = try await body(replica)
            try await self.end(replica, endpoints)
            return result
        } catch {
            try await self.end(replica, endpoints)
            throw error
        }
    }

    private func end(_ replica: Replica, _ endpoints: [ScriptedTokenEndpoint]) async throws {
        replica.running.cancel()
        let end = End()
        try await withThrowingTaskGroup { group in
            group.addTask {
                await replica.running.value
                end.come()
            }
            // A flight that pauses does so on our clock.
            try await self.clock.advance(bySleepersWithin: .seconds(1), until: "the replica to end") {
                for endpoint in endpoints { endpoint.release() }
                return end.hasCome
            }
            try await group.waitForAll()
        }
    }

    private final class End: Sendable {
        private let flag = Mutex(false)
        var hasCome: Bool { self.flag.withLock { $0 } }
        func come() { self.flag.withLock { $0 = true } }
    }
}

/// The events a replica told its slots, in order.
final class EventList: Sendable {
    private let events = Mutex<[CredentialEvent]>([])
    var all: [CredentialEvent] { self.events.withLock { $0 } }
    func append(_ event: CredentialEvent) { self.events.withLock { $0.append(event) } }
}

/// What operators were told, in order.
final class ToldEvents: Sendable {
    private let events = Mutex<[RefreshEvent]>([])
    var all: [RefreshEvent] { self.events.withLock { $0 } }
    func append(_ event: RefreshEvent) { self.events.withLock { $0.append(event) } }

    /// Such as `refresh_failed alice`, or `provider_config *` for all of a provider's.
    var lines: [String] { self.all.map { "\($0.kind.rawValue) \($0.account?.rawValue ?? "*")" } }
}

/// One engine and the task that runs it.
struct Replica: Sendable {
    let engine: RefreshEngine
    let running: Task<Void, Never>
    fileprivate let eventList: EventList

    var events: [CredentialEvent] { self.eventList.all }

    /// Waits until no flight is under way: who asked may have been served by a read before that ends.
    func hasLanded() async throws {
        try await eventually("no flight to be under way") { self.engine.flightCount == 0 }
    }

    /// Asks in a task of its own.
    func ask(_ account: AccountID = alice, refused: Generation? = nil) -> Asked {
        let engine = self.engine
        return Asked(
            task: Task {
                do throws(CredentialError) {
                    return .credential(try await engine.credential(for: account, refused: refused))
                } catch {
                    return .error(error.code)
                }
            }
        )
    }
}

/// A question under way.
struct Asked: Sendable {
    let task: Task<Answer, Never>

    /// The answer; a question that is never answered is given up, so that its test fails instead of hanging.
    var value: Answer {
        get async {
            let answer = try? await within("an answer", limit: .seconds(20)) {
                await withTaskCancellationHandler {
                    await self.task.value
                } onCancel: {
                    self.task.cancel()
                }
            }
            return answer ?? .nothing
        }
    }

    func cancel() { self.task.cancel() }
}

/// What came of asking for a credential.
enum Answer: Equatable, Sendable {
    case credential(UpstreamCredential)
    case error(CredentialError.Code)
    case nothing

    var generation: Generation? {
        if case .credential(let credential) = self { return credential.generation }
        return nil
    }
}
