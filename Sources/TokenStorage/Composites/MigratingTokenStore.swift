internal import Synchronization
package import TokenModel

/// A store that moves its records from `previous` to `current`, with gateways running on it.
///
///     before ──▶ every replica is a replica of `previous`; some may run without this driver
///        │         when all replicas that are listed there have this target, one of them appends `moved` to the kill log
///        ▼
///     leaving ─▶ a replica that reads `moved` starts no call any more, lets those in progress end, gives its lease up and
///        │         acknowledges; calls wait
///        ▼         when all have acknowledged or lapsed, one copies the rest of the kill log and commits the move
///     after ───▶ `current` counts; records move one by one, when they are used and in the background
///
/// The kill switch performs the steps in between: it waits for the replicas as for a kill. The one write that commits the
/// move for all of them is that of the place record of `previous` (``StorePlace``).
///
/// A process that ends at any time loses nothing: the next one that opens both stores goes on. To go back, exchange
/// `current` and `previous`.
package final class MigratingTokenStore: TokenStore {
    package enum Phase: Sendable {
        case before, leaving, after
    }

    struct State {
        var phase: Phase
        /// Nothing is left in `previous`.
        var isDone = false
        var moved = 0
        /// The calls in progress, without those of records that stay in their store.
        var calls = 0
        /// When this process found the place records of both stores, or last put one back.
        var placedAt: BootInstant
        /// When this process went over.
        var arrivedAt = BootInstant.distantPast
        /// When a change last ended with an unknown outcome.
        var uncertainAt: BootInstant?
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter: UInt64 = 0
    }

    /// A change whose outcome is unknown may be carried out late. For so long after it no replica leaves `previous`.
    static let settling = Duration.seconds(10)
    /// What has stood for so long is on the standby of a store too.
    static let replication = Duration.seconds(10)

    /// The place of `current`, and that of `previous`.
    package var target: PlaceID { self.ends.target.id }
    /// The place records of `previous` and of `current` as they were found.
    package let ends: (source: StorePlace, target: StorePlace)
    let current: any TokenStore
    let previous: any TokenStore
    /// The two stores before and after the move: if `previous` lacks records that are still in `current`, they are
    /// layered before the move too.
    private let before: any TokenStore
    let after: LayeredTokenStore
    /// The records in `current`, whatever the phase.
    package let targetRecords: SealedRecords
    let places: (current: PlaceVault, previous: PlaceVault)
    let timepiece: Timepiece
    private let deadlines: Deadlines
    let state: Mutex<State>
    let broadcaster = ChangeBroadcaster()
    /// The hints of both stores. Open from the start, so that none is missed.
    let hints: (previous: AsyncStream<RecordChange>, current: AsyncStream<RecordChange>)

    /// - Parameters:
    ///   - opening: the two stores as they were found.
    ///   - patience: how long a call waits for a store.
    package init(
        _ opening: StoreMigration,
        timepiece: Timepiece = .system,
        patience: Duration = .milliseconds(1_900)
    ) {
        (self.current, self.previous) = (opening.current.store, opening.previous.store)
        self.ends = (opening.source.record, opening.target.record)
        self.targetRecords = opening.current
        self.places = (PlaceVault(opening.current), PlaceVault(opening.previous))
        self.before =
            opening.isTurnedAround ? LayeredTokenStore(upper: self.previous, lower: self.current) : self.previous
        self.after = LayeredTokenStore(upper: self.current, lower: self.previous)
        self.timepiece = timepiece
        self.deadlines = Deadlines(patience, by: timepiece)
        self.hints = (self.previous.changes(), self.current.changes())
        self.state = Mutex(State(phase: opening.isCommitted ? .after : .before, placedAt: timepiece.now.boot))
    }

    deinit { self.broadcaster.finish() }

    package var phase: Phase { self.state.withLock(\.phase) }

    /// How often the store that counts was moved away when it was found.
    package var moves: UInt64 { self.phase == .after ? self.ends.target.moves : self.ends.source.moves }

    /// Those of the store that promises less: what stands on this one must be right on both.
    package var guarantees: StoreGuarantees {
        let (first, second) = (self.current.guarantees, self.previous.guarantees)
        let reach: StoreGuarantees.Reach =
            [first.reach, second.reach].contains(.network)
            ? .network : [first.reach, second.reach].contains(.host) ? .host : .process
        let losesSuffix = [first.failover, second.failover].contains(.losesSuffix)
        return StoreGuarantees(reach: reach, failover: losesSuffix ? .losesSuffix : .losesNothing)
    }

    // MARK: - Calls

    package func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        try await self.call(key.isPinned || RecordKey.Prefix.killEnds.contains(key)) { store throws(StoreError) in
            try await store.read(key)
        } mayBeGone: {
            $0 == nil
        }
    }

    package func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        try StoreError.checkWrite(value, at: key, as: version, expecting: expecting)
        try await self.call(key.isChangedInAnyPhase, isChange: true) { store throws(StoreError) in
            try await store.write(value, at: key, as: version, expecting: expecting)
        }
    }

    package func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        try await self.call(key.isChangedInAnyPhase, isChange: true) { store throws(StoreError) in
            try await store.remove(key, expecting: expecting)
        }
    }

    package func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        try StoreError.checkLimit(limit)
        return try await self.call(prefix.isPinned || prefix == .killEnds) { store throws(StoreError) in
            try await store.records(under: prefix, after: after, limit: limit)
        }
    }

    package func changes() -> AsyncStream<RecordChange> { self.broadcaster.listen() }

    /// Makes a call. It goes on if it takes too long, and if the caller is cancelled.
    ///
    /// - Parameters:
    ///   - isFree: the call does not wait while the replicas leave `previous`.
    ///   - mayBeGone: whether the result may be due to records that were moved without this replica.
    private func call<Value: Sendable>(
        _ isFree: Bool,
        isChange: Bool = false,
        _ body: @escaping @Sendable (any TokenStore) async throws(StoreError) -> Value,
        mayBeGone: @escaping @Sendable (Value) -> Bool = { _ in true }
    ) async throws(StoreError) -> Value {
        let waiter = self.state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return try await self.deadlines.reply(
            late: {
                // Whoever waits no longer is not kept.
                let waiting = self.state.withLock { $0.waiting.removeValue(forKey: waiter) }
                waiting?.resume()
                return waiting == nil ? Self.late : Self.leaving
            }
        ) { reply in
            Task(executorPreference: OwnedTasks.executor) {
                guard let (store, isLeft) = await self.begin(isFree, waiter, while: { reply.isAwaited }) else { return }
                guard reply.isAwaited else { return self.end(isFree) }
                do throws(StoreError) {
                    let value = try await body(store)
                    if !isFree, isLeft, mayBeGone(value) { try await self.expectUncommitted() }
                    // Whoever has the result finds the call ended.
                    self.end(isFree)
                    reply.give(.success(value))
                } catch {
                    var failure = error
                    if !isFree, isLeft, error.code == .conflict, error.current == nil {
                        do throws(StoreError) { try await self.expectUncommitted() } catch { failure = error }
                    }
                    self.end(isFree, isUncertain: isChange && failure.code == .unreachable)
                    reply.give(.failure(failure))
                }
            }
        }
    }

    private static let late = StoreError(
        .unreachable,
        "one of the two stores that records are moved between does not respond"
    )
    private static let leaving = StoreError(.unreachable, "the replicas go over to another store, and one is not ready")

    /// Waits until the replicas have left `previous`, if they are about to.
    ///
    /// - Returns: the store to use, and whether it is the one that is left; `nil` if nobody waits for the call any more.
    private func begin(
        _ isFree: Bool,
        _ waiter: UInt64,
        while isAwaited: () -> Bool
    ) async -> (store: any TokenStore, isLeft: Bool)? {
        while isAwaited() {
            let begun: (any TokenStore, Bool)? = self.state.withLock { state in
                guard isFree || state.phase != .leaving else { return nil }
                if !isFree { state.calls += 1 }
                guard state.phase == .after else { return (self.before, true) }
                return (state.isDone ? self.current : self.after, false)
            }
            if let begun { return begun }
            await withCheckedContinuation { continuation in
                let isOver = self.state.withLock { state in
                    guard state.phase == .leaving else { return true }
                    state.waiting[waiter] = continuation
                    return false
                }
                // It may be over just now, after the look at the deadline before.
                if isOver { continuation.resume() }
                if !isAwaited() { self.state.withLock { $0.waiting.removeValue(forKey: waiter) }?.resume() }
            }
        }
        return nil
    }

    private func end(_ isFree: Bool, isUncertain: Bool = false) {
        let now = self.timepiece.now.boot
        self.state.withLock { state in
            guard !isFree else { return }
            state.calls -= 1
            if isUncertain { state.uncertainAt = now }
        }
    }

    /// A replica that stood still for longer than its lease does not know that the others have moved on. Then a record may
    /// be gone from `previous`, and a change there may be too late.
    func expectUncommitted() async throws(StoreError) {
        let place = try await self.places.previous.read()?.record
        let isMoved = if case .movedAway = place?.stage { true } else { false }
        guard let place, !isMoved, place.moves == self.ends.source.moves else {
            throw StoreError(.unreachable, "the other replicas have moved to another store, and this one has not yet")
        }
    }
}

extension RecordKey {
    /// Whether a change of the record does not wait while the replicas leave a store: one that the move itself needs.
    fileprivate var isChangedInAnyPhase: Bool { self.staysInItsStore || Prefix.killEnds.contains(self) }
}
