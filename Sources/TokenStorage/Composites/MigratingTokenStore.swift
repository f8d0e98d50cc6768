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

    private struct State {
        var phase: Phase
        /// Nothing is left in `previous`.
        var isDone = false
        var moved = 0
        /// The calls in progress, without those of records that stay in their store.
        var calls = 0
        /// When this process went over.
        var arrivedAt = BootInstant.distantPast
        /// When a change last ended with an unknown outcome.
        var uncertainAt: BootInstant?
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter: UInt64 = 0
    }

    /// A change whose outcome is unknown may be carried out late. For so long after it no replica leaves `previous`.
    private static let settling = Duration.seconds(10)

    /// The place of `current`, and that of `previous`.
    package var target: PlaceID { self.ends.target.id }
    /// The place records of `previous` and of `current` as they were found.
    package let ends: (source: StorePlace, target: StorePlace)
    let current: any TokenStore
    let previous: any TokenStore
    /// The two stores before and after the move: if `previous` lacks records that are still in `current`, they are
    /// layered before the move too.
    private let before: any TokenStore
    private let after: LayeredTokenStore
    /// The records in `current`, whatever the phase.
    package let targetRecords: SealedRecords
    private let places: (current: PlaceVault, previous: PlaceVault)
    private let timepiece: Timepiece
    private let deadlines: Deadlines
    private let state: Mutex<State>
    private let broadcaster = ChangeBroadcaster()
    /// The hints of both stores. Open from the start, so that none is missed.
    private let hints: (previous: AsyncStream<RecordChange>, current: AsyncStream<RecordChange>)

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
        self.state = Mutex(State(phase: opening.isCommitted ? .after : .before))
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
    private func expectUncommitted() async throws(StoreError) {
        let place = try await self.places.previous.read()?.record
        let isMoved = if case .movedAway = place?.stage { true } else { false }
        guard let place, !isMoved, place.moves == self.ends.source.moves else {
            throw StoreError(.unreachable, "the other replicas have moved to another store, and this one has not yet")
        }
    }

    // MARK: - The move

    /// Copies the kill log to `current` as far as it goes, so that little is left to copy when the replicas wait.
    package func copyKillLog() async throws(StoreError) {
        try await self.places.previous.putBack(self.ends.source)
        try await self.places.current.putBack(self.ends.target)
        try await KillLogCopying(from: self.previous, to: self.current).run { () async throws(StoreError) in
            try await self.expectUncommitted()
        }
    }

    /// Begins to leave `previous`: no call starts, except of records that stay in their store.
    ///
    /// - Returns: whether all calls have ended, and no change can land late any more.
    package func leave() -> Bool {
        let now = self.timepiece.now.boot
        return self.state.withLock { state in
            if state.phase == .before { state.phase = .leaving }
            guard state.phase == .leaving else { return true }
            let isSettled = state.uncertainAt.map { $0.advanced(by: Self.settling) <= now } ?? true
            return state.calls == 0 && isSettled
        }
    }

    /// Commits the move for all replicas. Call it when every replica of `previous` has left or lapsed.
    package func commit() async throws(StoreError) {
        guard try await self.places.previous.read()?.record.stage != .movedAway(to: self.target) else { return }
        try await self.copyKillLog()
        try await self.noteMovedAway()
    }

    private func noteMovedAway() async throws(StoreError) {
        let moves = try await self.places.current.read()?.record.moves ?? 0
        try await self.places.previous.putBack(self.ends.source)
        _ = try await self.places.previous.change {
            $0.moveAway(to: self.target, foundAs: self.ends.source, after: moves)
        }
    }

    /// Goes over to `current` if the move is committed.
    ///
    /// - Returns: whether it is.
    package func goOver() async throws(StoreError) -> Bool {
        guard self.phase != .after else { return true }
        let place = try await self.places.previous.read()?.record
        guard place?.stage == .movedAway(to: self.target) else { return false }
        try await self.noteFilling()
        let now = self.timepiece.now.boot
        let waiting = self.state.withLock { state in
            (state.phase, state.arrivedAt) = (.after, now)
            defer { state.waiting = [:] }
            return state.waiting
        }
        for one in waiting.values { one.resume() }
        self.broadcaster.announce(.anotherServer)
        return true
    }

    /// Removes a record of `previous` that belongs to nobody any more. If that fails, it stays.
    package func leaveBehind(_ key: RecordKey) async {
        guard let stored = try? await self.previous.read(key) else { return }
        try? await self.previous.remove(key, expecting: stored.version)
    }

    private func noteFilling() async throws(StoreError) {
        let source = self.ends.source.id
        try await self.places.current.putBack(self.ends.target)
        _ = try await self.places.current.change { place in
            switch place.stage {
            case .own, .filling: return false
            case .prepared, .movedAway:
                place.stage = .filling(from: source)
                return true
            }
        }
    }

    /// Passes hints on, and moves records in the background. Returns when its task is cancelled.
    ///
    /// - Parameter ended: called when nothing is left in `previous`.
    package func run(ended: @Sendable (Progress) -> Void) async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask {
                // A write may be heard of late. Later hints are of records that have moved.
                for await change in self.hints.previous {
                    // The failover of a store without records is nobody's concern, unless it has lost that they were moved.
                    if change == .anotherServer, self.phase == .after { try? await self.noteMovedAway() }
                    if !self.hasBeenThere(for: .seconds(3)) { self.broadcaster.announce(change) }
                }
            }
            tasks.addTask { for await change in self.hints.current { self.broadcaster.announce(change) } }
            while !Task.isCancelled {
                // A store that can't be reached is tried again.
                if self.phase == .after { try? await self.moveAll() }
                if self.state.withLock(\.isDone) {
                    ended(self.progress)
                    break
                }
                await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .seconds(1)))
            }
        }
    }

    private func hasBeenThere(for time: Duration) -> Bool {
        let since = self.timepiece.now.boot
        return self.state.withLock { $0.phase == .after && $0.arrivedAt.advanced(by: time) < since }
    }

    /// Moves all records, until a pass finds none.
    private func moveAll() async throws(StoreError) {
        try await self.noteMovedAway()
        try await self.noteFilling()
        var (last, found) = (RecordKey?.none, false)
        while !Task.isCancelled {
            let page = try await self.previous.records(under: .all, after: last, limit: StoreGuarantees.listing)
            guard let end = page.last?.key else {
                guard found else { return try await self.noteDone() }
                (last, found) = (nil, false)
                continue
            }
            let keys = page.map(\.key).filter { !$0.isPinned }
            found = found || !keys.isEmpty
            try await self.move(keys)
            last = end
        }
    }

    private func noteDone() async throws(StoreError) {
        let source = self.ends.source.id
        _ = try await self.places.current.change { place in
            guard place.stage == .filling(from: source) else { return false }
            place.stage = .own
            return true
        }
        self.state.withLock { $0.isDone = true }
    }

    private func move(_ keys: [RecordKey]) async throws(StoreError) {
        let after = self.after
        try await ConcurrentCalls.forEach(keys) { key throws(StoreError) in
            if !Task.isCancelled, try await after.moveUp(key) { self.state.withLock { $0.moved += 1 } }
        }
    }
}

extension MigratingTokenStore {
    package var progress: Progress {
        self.state.withLock { state in
            let stage: Progress.State =
                switch state.phase {
                case .before: .waiting
                case .leaving: .leaving
                case .after: state.isDone ? .done : .moving
                }
            return Progress(state: stage, moved: state.moved)
        }
    }
}
