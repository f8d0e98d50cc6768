internal import Synchronization
package import TokenModel
package import TokenStorage

/// One connection to an in-memory store that fails as real stores do. It becomes unreachable before or after
/// performing a call, stalls, returns old states, writes late, and loses its last commits.
///
/// Without a fault it satisfies the contract of `TokenStore`. Several connections may share the records, each with its
/// own faults. Rules choose the faults (``fail(_:_:under:times:)``); the rule added last has precedence. If no rule
/// matches, a function chooses (``fail(by:)``), for example one that draws from a seed.
package final class FaultyTokenStore: TokenStore {
    private struct Rule: Sendable {
        let fault: Fault
        let operations: Set<Operation>
        let matches: @Sendable (Call) -> Bool
        var times: Int?
    }

    private struct Hook: Sendable {
        let isBefore: Bool
        let operation: Operation
        let place: String
        var skips: Int
        let body: @Sendable () async -> Void
    }

    private struct State {
        var rules: [Rule] = []
        var choose: (@Sendable (Call) -> Fault)?
        var hooks: [Hook] = []
        var calls: [Call] = []
        var stalled: [CheckedContinuation<Void, Never>] = []
        var failedWrites = 0
        var followers = 0
        /// The number of commits at the time of this connection's own last commit.
        var ownLast = 0

        /// The fault by the last rule that matches the call.
        mutating func fault(of call: Call) -> Fault {
            let found = self.rules.lastIndex { $0.operations.contains(call.operation) && $0.matches(call) }
            guard let index = found else { return self.choose?(call) ?? .none }
            let fault = self.rules[index].fault
            if let times = self.rules[index].times {
                if times == 1 { self.rules.remove(at: index) } else { self.rules[index].times = times - 1 }
            }
            return fault
        }
    }

    /// The state that all connections share.
    private final class Shared: Sendable {
        struct LateWrite: Sendable {
            var calls: Int
            let key: RecordKey
            let record: StoredRecord?
            let expecting: Version?
        }

        struct State {
            var history = StoreHistory()
            var late: [LateWrite] = []
        }

        let state = Mutex(State())
        let broadcaster = ChangeBroadcaster()
    }

    package let guarantees: StoreGuarantees
    private let shared: Shared
    private let state = Mutex(State())
    private let hints: Bool

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - guarantees: the guarantees that the store declares.
    ///   - hints: whether the store announces changes.
    package init(_ guarantees: StoreGuarantees = StoreGuarantees(reach: .process), hints: Bool = true) {
        self.guarantees = guarantees
        self.shared = Shared()
        self.hints = hints
    }

    private init(sharing other: FaultyTokenStore) {
        self.guarantees = other.guarantees
        self.shared = other.shared
        self.hints = other.hints
    }

    /// Opens another connection to the same records, without faults.
    package func connect() -> FaultyTokenStore { FaultyTokenStore(sharing: self) }

    // MARK: - Faults of this connection

    /// Makes each call of `operations` under `prefix` fail with `fault` from now on.
    ///
    /// - Parameter times: how many calls fail; `nil` for all.
    package func fail(
        _ fault: Fault,
        _ operations: Set<Operation> = Set(Operation.allCases),
        under prefix: RecordKey.Prefix = .all,
        times: Int? = nil
    ) {
        self.add(Rule(fault: fault, operations: operations, matches: { $0.isUnder(prefix) }, times: times))
    }

    /// Makes each call of `operations` on `key` fail with `fault`, including listings whose prefix contains `key`.
    package func fail(
        _ fault: Fault,
        _ operations: Set<Operation> = Set(Operation.allCases),
        at key: RecordKey,
        times: Int? = nil
    ) {
        self.add(
            Rule(
                fault: fault,
                operations: operations,
                matches: { call in
                    call.operation == .records
                        ? RecordKey.Prefix(rawValue: call.place).contains(key)
                        : call.place.utf8.elementsEqual(key.rawValue.utf8)
                },
                times: times
            )
        )
    }

    /// Asks `choose` for the fault of each call that no rule matches.
    package func fail(by choose: @escaping @Sendable (Call) -> Fault) { self.state.withLock { $0.choose = choose } }

    /// Removes all rules and the function of ``fail(by:)``, and continues the stalled calls.
    package func recover() {
        let stalled = self.state.withLock { state in
            defer { state.stalled = [] }
            state.rules = []
            state.choose = nil
            return state.stalled
        }
        for one in stalled { one.resume() }
    }

    /// Calls `body` once, before the next write at `key`.
    package func beforeWrite(at key: RecordKey, _ body: @escaping @Sendable () async -> Void) {
        self.add(Hook(isBefore: true, operation: .write, place: key.rawValue, skips: 0, body: body))
    }

    /// Calls `body` once, after the next write at `key` is committed and before its writer receives the result.
    package func afterWrite(at key: RecordKey, _ body: @escaping @Sendable () async -> Void) {
        self.add(Hook(isBefore: false, operation: .write, place: key.rawValue, skips: 0, body: body))
    }

    /// Calls `body` once, after the next read at `key` has seen what is there and before its reader receives it.
    package func afterRead(of key: RecordKey, _ body: @escaping @Sendable () async -> Void) {
        self.add(Hook(isBefore: false, operation: .read, place: key.rawValue, skips: 0, body: body))
    }

    /// Calls `body` once, before the first page of a listing.
    ///
    /// - Parameter number: the number of the listing of `prefix`, counted from 1 for the next one.
    package func before(
        listing number: Int,
        of prefix: RecordKey.Prefix,
        _ body: @escaping @Sendable () async -> Void
    ) {
        self.add(Hook(isBefore: true, operation: .records, place: prefix.rawValue, skips: number - 1, body: body))
    }

    private func add(_ hook: Hook) { self.state.withLock { $0.hooks.append(hook) } }

    private func add(_ rule: Rule) { self.state.withLock { $0.rules.append(rule) } }

    /// All calls of this connection, in order, whatever their outcome.
    package var calls: [Call] { self.state.withLock { $0.calls } }

    /// The number of calls of `operation`, at `key` or anywhere.
    package func count(of operation: Operation, at key: RecordKey? = nil) -> Int {
        self.calls.count { $0.operation == operation && key.map(\.rawValue) ?? $0.place == $0.place }
    }

    /// The number of writes and removals that failed because of a fault.
    package var failedWrites: Int { self.state.withLock { $0.failedWrites } }

    /// How often a stream of changes was begun on this connection.
    package var followerCount: Int { self.state.withLock { $0.followers } }

    /// Whether a call is stalled now.
    package var isStalled: Bool { self.state.withLock { !$0.stalled.isEmpty } }

    // MARK: - The records that all connections share

    /// All records and their commits. Set it to restore an earlier state, as from a backup.
    package var history: StoreHistory {
        get { self.shared.state.withLock { $0.history } }
        set { self.shared.state.withLock { $0.history = newValue } }
    }

    /// Loses the last `count` commits, as in a failover to a standby that had not received them.
    package func lose(_ count: Int) { self.shared.state.withLock { $0.history.lose(count) } }

    /// Removes the record at `key` and keeps all later commits.
    package func erase(_ key: RecordKey) { self.shared.state.withLock { $0.history.erase(key) } }

    /// Performs all late writes now, in their order. Writes whose expected version is no longer current are discarded.
    package func landLateWrites() {
        let landed = self.shared.state.withLock { state in
            let late = state.late
            state.late = []
            return late.filter { Self.land($0, in: &state.history) }
        }
        for write in landed { self.announce(write.key, write.record?.version) }
    }

    private static func land(_ write: Shared.LateWrite, in history: inout StoreHistory) -> Bool {
        (try? history.commit(write.record, at: write.key, expecting: write.expecting)) != nil
    }

    /// Announces that a connection is back that was lost, as a driver does.
    package func announceReconnect(toAnotherServer isAnother: Bool) {
        self.shared.broadcaster.announce(isAnother ? .anotherServer : .everything)
    }

    private func announce(_ key: RecordKey, _ version: Version?) {
        if self.hints { self.shared.broadcaster.announce(RecordChange(key: key, version: version)) }
    }

    // MARK: - TokenStore

    package func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        let fault = try await self.begin(Call(operation: .read, place: key.rawValue, version: nil))
        let history = self.history
        let stored = history.record(key, age: self.age(fault, in: history))
        await self.runHook(isBefore: false, .read, key.rawValue)
        if fault == .unanswered { throw Self.unanswered }
        return fault == .spoiled ? stored.map(Self.spoiled) : stored
    }

    package func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        try StoreError.checkWrite(value, at: key, as: version, expecting: expecting)
        let fault = try await self.begin(Call(operation: .write, place: key.rawValue, version: version))
        try await self.commit(.write, StoredRecord(version: version, value: value), at: key, expecting, fault)
    }

    package func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        let fault = try await self.begin(Call(operation: .remove, place: key.rawValue, version: nil))
        try await self.commit(.remove, nil, at: key, expecting, fault)
    }

    package func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        try StoreError.checkLimit(limit)
        let call = Call(operation: .records, place: prefix.rawValue, version: nil)
        let fault = try await self.begin(call, isContinued: after != nil)
        if fault == .unanswered { throw Self.unanswered }
        let history = self.history
        let age = self.age(fault, in: history)
        return KeyedRecord.page(of: history.keys(age: age), under: prefix, after: after, limit: limit) { key in
            history.record(key, age: age).map { self.becameUnreadable(key) ? Self.spoiled($0) : $0 }
        }
    }

    package func changes() -> AsyncStream<RecordChange> {
        defer { self.state.withLock { $0.followers += 1 } }
        return self.hints ? self.shared.broadcaster.listen() : AsyncStream { _ in }
    }

    // MARK: - A call

    /// Performs what is due before a call: hooks and late writes. Throws if the call ends here because of a fault.
    ///
    /// - Returns: the fault of the call otherwise.
    private func begin(_ call: Call, isContinued: Bool = false) async throws(StoreError) -> Fault {
        if !isContinued { await self.runHook(isBefore: true, call.operation, call.place) }
        let landed = self.shared.state.withLock { state in
            for index in state.late.indices { state.late[index].calls -= 1 }
            let due = state.late.filter { $0.calls < 0 }
            state.late.removeAll { $0.calls < 0 }
            return due.filter { Self.land($0, in: &state.history) }
        }
        for write in landed { self.announce(write.key, write.record?.version) }
        let isWrite = call.operation == .write || call.operation == .remove
        let fault = self.state.withLock { state in
            state.calls.append(call)
            let fault = state.fault(of: call)
            switch fault {
            case .away, .unanswered, .late: if isWrite { state.failedWrites += 1 }
            case .full where isWrite: state.failedWrites += 1
            case .none, .full, .stale, .forgetful, .stalled, .forgotten, .spoiled: break
            }
            return fault
        }
        switch fault {
        case .away: throw StoreError(.unreachable, "the store was taken away")
        case .late where !isWrite: throw StoreError(.unreachable, "the store was taken away")
        case .full where isWrite: throw StoreError(.unwritable, "the disk is full")
        case .stalled: await self.stall(call)
        case .none, .full, .unanswered, .late, .stale, .forgetful, .forgotten, .spoiled: break
        }
        return fault
    }

    private func stall(_ call: Call) async {
        await withCheckedContinuation { continuation in
            let isOver = self.state.withLock { state in
                // The store may have recovered in the meantime.
                guard state.rules.contains(where: { $0.fault == .stalled && $0.matches(call) }) else { return true }
                state.stalled.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    private func commit(
        _ operation: Operation,
        _ record: StoredRecord?,
        at key: RecordKey,
        _ expecting: Version?,
        _ fault: Fault
    ) async throws(StoreError) {
        if fault == .forgotten { return }
        if case .late(let calls) = fault {
            let late = Shared.LateWrite(calls: calls, key: key, record: record, expecting: expecting)
            self.shared.state.withLock { $0.late.append(late) }
            throw Self.unanswered
        }
        let (result, count) = self.shared.state.withLock { state in
            let result = Result { () throws(StoreError) in
                try state.history.commit(record, at: key, expecting: expecting)
            }
            return (result, state.history.count)
        }
        // A conflict also tells the connection the current state.
        self.state.withLock { $0.ownLast = count }
        if fault == .unanswered, case .failure = result { throw Self.unanswered }
        do throws(StoreError) {
            try result.get()
        } catch {
            guard error.code == .conflict, let current = error.current, self.becameUnreadable(key) else { throw error }
            throw .conflict(Self.spoiled(current))
        }
        self.announce(key, record?.version)
        await self.runHook(isBefore: false, operation, key.rawValue)
        if fault == .unanswered { throw Self.unanswered }
    }

    private func runHook(isBefore: Bool, _ operation: Operation, _ place: String) async {
        let body: (@Sendable () async -> Void)? = self.state.withLock { state in
            let found = state.hooks.firstIndex { hook in
                hook.isBefore == isBefore && hook.operation == operation && hook.place == place
            }
            guard let index = found else { return nil }
            guard state.hooks[index].skips == 0 else {
                state.hooks[index].skips -= 1
                return nil
            }
            return state.hooks.remove(at: index).body
        }
        await body?()
    }

    private func age(_ fault: Fault, in history: StoreHistory) -> Int {
        guard case .stale(let commits) = fault else { return fault.age }
        let own = self.state.withLock { min($0.ownLast, history.count) }
        return min(commits, history.count - own)
    }

    private func becameUnreadable(_ key: RecordKey) -> Bool {
        let call = Call(operation: .read, place: key.rawValue, version: nil)
        return self.state.withLock { $0.rules.contains { $0.fault == .spoiled && $0.matches(call) } }
    }

    private static func spoiled(_ stored: StoredRecord) -> StoredRecord {
        var bytes = stored.value.bytes
        bytes[bytes.count / 2] ^= 1
        return StoredRecord(version: stored.version, value: SealedBytes(bytes: bytes))
    }

    private static let unanswered = StoreError(.unreachable, "the answer was lost")
}
