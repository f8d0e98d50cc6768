internal import Synchronization
package import TokenModel

/// A store whose records other stores, the mirrors, hold too. So a second copy is always there.
///
/// Everything is read from the primary, and what this store promises is what the primary promises. A write or removal
/// goes to the primary first. When that has acknowledged it, it goes to each mirror that is up to date, and the caller
/// waits for them, for a second at most. What the mirrors do never makes a call fail.
///
/// A mirror whose call fails or is late is behind. Nobody waits for it any more, and ``run()`` catches it up: all its
/// records are compared with the primary's. It is compared at the start and every few minutes too, because a process
/// that ends between a write to a mirror and its look at the primary may leave an older record there.
///
/// A mirror carries a ``MirrorMark``, so that no gateway starts on it by mistake. Starting from a mirror is like
/// starting from a restored backup. Whoever does that stops the gateways that write to it first: they notice only after
/// up to ten seconds that it is a store of its own.
///
/// A primary of reach `.network` may be read stale: a gateway that is cut off with a former primary takes a newer record of
/// a mirror for one that was lost, and puts the older one there. The next comparison by a gateway that is not cut off
/// puts the newer one back.
///
/// A gateway that can't reach a mirror which others do reach can't say so on its mark. Then the mark is wrong until one
/// of the others has compared the mirror, which each does every five minutes.
package final class MirroringTokenStore: TokenStore {
    /// A store that is to be a mirror.
    package struct Target: Sendable {
        package let name: String
        package let store: any TokenStore

        /// - Parameter name: its name in messages, such as the path of its database.
        package init(name: String, store: any TokenStore) {
            self.name = name
            self.store = store
        }
    }

    private typealias Job = @Sendable () async -> Void

    private struct Pending {
        var jobs = 0
        /// The work was started and has ended.
        var isOver = false
    }

    private let primary: any TokenStore
    private let mirrors: [Mirror]
    private let deadlines: Deadlines
    private let timepiece: Timepiece
    private let jobs: AsyncStream<Job>
    private let newJobs: AsyncStream<Job>.Continuation
    private let pending = Mutex(Pending())

    /// Combines stores without a look at them. The mirrors are behind until ``run()`` has compared them.
    ///
    /// - Parameters:
    ///   - keys: those of the primary, which tell whether a mirror holds the same store.
    ///   - changed: called with the new state whenever the phase of a mirror changes. It must return quickly.
    package init(
        primary: any TokenStore,
        mirrors: [Target],
        keys: (any KeyRingSource)? = nil,
        timing: MirrorTiming = MirrorTiming(),
        timepiece: Timepiece = .system,
        changed: @escaping @Sendable (MirrorState) -> Void = { _ in }
    ) {
        self.primary = primary
        self.mirrors = mirrors.map { target in
            let status = MirrorStatus(target.name, timing: timing, timepiece: timepiece, told: changed)
            return Mirror(status, store: target.store, of: primary, keys: keys)
        }
        self.deadlines = Deadlines(timing.patience, by: timepiece)
        self.timepiece = timepiece
        (self.jobs, self.newJobs) = AsyncStream.makeStream()
    }

    deinit { self.newJobs.finish() }

    /// Combines stores, and marks each mirror that has no mark yet.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` if a mirror holds another store, or records of which it is unknown what
    ///   they are; any error of a mirror but ``StoreError/Code/unreachable``. A mirror that can't be reached is looked at
    ///   when it is back.
    package static func open(
        primary: any TokenStore,
        mirrors: [Target],
        keys: (any KeyRingSource)?,
        timing: MirrorTiming = MirrorTiming(),
        changed: @escaping @Sendable (MirrorState) -> Void = { _ in }
    ) async throws(StoreError) -> MirroringTokenStore {
        let store = MirroringTokenStore(
            primary: primary,
            mirrors: mirrors,
            keys: keys,
            timing: timing,
            changed: changed
        )
        for mirror in store.mirrors {
            if let refusal = try await mirror.refusal() { throw refusal }
        }
        return store
    }

    /// The state of each mirror.
    package var states: [MirrorState] { self.mirrors.map(\.status.state) }

    // MARK: - The work on the mirrors

    /// Writes to the mirrors and catches them up, until its task is cancelled. Call it once. Until then, and afterwards,
    /// writes go to the primary only. So a clean stop is first the end of all writers, then ``flush(within:)``, then the
    /// cancellation.
    package func run() async {
        await withDiscardingTaskGroup { tasks in
            for mirror in self.mirrors {
                tasks.addTask { await mirror.keepComparing() }
                tasks.addTask { await mirror.keepMarking() }
            }
            for await job in self.jobs { tasks.addTask { await job() } }
            tasks.cancelAll()
        }
        self.pending.withLock { $0.isOver = true }
        for mirror in self.mirrors { mirror.status.failed(isWrite: false) }
    }

    /// Waits for what is on its way to the mirrors, and lets their marks say that they are complete.
    ///
    /// - Returns: whether all mirrors have all records.
    @discardableResult
    package func flush(within limit: Duration) async -> Bool {
        let deadline = self.timepiece.now.boot.advanced(by: limit)
        while self.pending.withLock({ $0.jobs > 0 && !$0.isOver }), self.timepiece.now.boot < deadline {
            await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .milliseconds(5)))
            guard !Task.isCancelled else { return false }
        }
        guard self.pending.withLock({ $0.jobs == 0 && !$0.isOver }) else { return false }
        for mirror in self.mirrors where mirror.status.state.phase == .upToDate {
            await self.wait { await mirror.refreshMark() }
        }
        return self.states.allSatisfy { $0.phase == .upToDate }
    }

    /// Has `run()` do a job.
    ///
    /// - Returns: false if it has ended.
    private func begin(_ job: @escaping Job) -> Bool {
        self.pending.withLock { $0.jobs += 1 }
        let result = self.newJobs.yield {
            await job()
            self.pending.withLock { $0.jobs -= 1 }
        }
        if case .enqueued = result { return true }
        self.pending.withLock { $0.jobs -= 1 }
        return false
    }

    /// Has `run()` do a job, and waits for it.
    ///
    /// - Returns: false if it has not ended in time. It goes on.
    @discardableResult
    private func wait(for job: @escaping Job) async -> Bool {
        do throws(StoreError) {
            try await self.deadlines.reply(late: { StoreError(.unreachable, "the mirror does not respond") }) {
                (reply: Reply<Void>) in
                let isBegun = self.begin {
                    await job()
                    reply.give(.success(()))
                }
                if !isBegun { reply.give(.success(())) }
            }
            return true
        } catch {
            return false
        }
    }

    // MARK: - TokenStore

    package var guarantees: StoreGuarantees { self.primary.guarantees }

    package func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        try await self.primary.read(key)
    }

    package func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        try await self.primary.records(under: prefix, after: after, limit: limit)
    }

    package func changes() -> AsyncStream<RecordChange> { self.primary.changes() }

    package func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        let record = StoredRecord(version: version, value: value)
        try await self.change(Mirror.Change(key: key, record: record, expecting: expecting)) {
            () async throws(StoreError) in
            try await self.primary.write(value, at: key, as: version, expecting: expecting)
        }
    }

    package func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        try await self.change(Mirror.Change(key: key, record: nil, expecting: expecting)) {
            () async throws(StoreError) in
            try await self.primary.remove(key, expecting: expecting)
        }
    }

    private func change(
        _ change: Mirror.Change,
        _ body: () async throws(StoreError) -> Void
    ) async throws(StoreError) {
        guard !change.key.staysInItsStore else { return try await body() }
        let start = self.timepiece.now.boot
        do throws(StoreError) {
            try await body()
        } catch {
            if error.code == .unreachable { self.settle(change.key) }
            throw error
        }
        let mirrors = self.mirrors.filter { $0.route(change.key) == .send }
        guard !mirrors.isEmpty else { return }
        let mayWait = start.duration(to: self.timepiece.now.boot) <= Self.longestCall
        await withDiscardingTaskGroup { tasks in
            for mirror in mirrors { tasks.addTask { await self.send(change, to: mirror, waits: mayWait) } }
        }
    }

    /// After a longer call to the primary nobody waits for the mirrors: both together must end within two seconds.
    private static let longestCall = Duration.milliseconds(900)

    /// Sends a change to a mirror, and looks at the primary afterwards.
    private func send(_ change: Mirror.Change, to mirror: Mirror, waits: Bool) async {
        let job: Job = {
            await mirror.apply(change)
            _ = self.begin { await mirror.follow(change) }
        }
        if !waits {
            _ = self.begin(job)
        } else if await !self.wait(for: job) {
            mirror.status.failed(isWrite: true)
        }
    }

    /// The outcome of a change at the primary is unknown: the mirrors get what there is, now and when a late write must
    /// have landed.
    private func settle(_ key: RecordKey) {
        for mirror in self.mirrors where mirror.route(key) == .send {
            mirror.doubt()
            _ = self.begin { await mirror.synchronize(key) }
        }
    }
}
