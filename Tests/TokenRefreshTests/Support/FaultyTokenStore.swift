import Synchronization
import TokenModel
import TokenStorage

/// A memory store that a test can take away, make unwritable, spoil, or silence.
final class FaultyTokenStore: TokenStore {
    enum Fault: Sendable {
        case none
        /// Reads and writes fail.
        case away
        /// Writes fail.
        case full
    }

    private struct State {
        var fault = Fault.none
        var spoiled: Set<RecordKey> = []
        var refusedWrites = 0
        var reads = 0
        /// Reads and writes under way, and whether new ones wait.
        var users = 0
        var isBeingReplaced = false

        mutating func enter() -> Bool {
            if !self.isBeingReplaced { self.users += 1 }
            return !self.isBeingReplaced
        }
    }

    private let store = MemoryTokenStore()
    private let state = Mutex(State())
    private let isSilent: Bool

    /// - Parameter isSilent: gives no hints of changes.
    init(isSilent: Bool = false) {
        self.isSilent = isSilent
    }

    /// How many reads came to an end, of whichever record.
    var reads: Int { self.state.withLock { $0.reads } }
    var refusedWrites: Int { self.state.withLock { $0.refusedWrites } }

    func become(_ fault: Fault) {
        self.state.withLock { $0.fault = fault }
    }

    /// All records of accounts as they are now.
    func copy() async throws -> [RecordKey: StoredRecord] {
        var records: [RecordKey: StoredRecord] = [:]
        try await self.store.forEachRecord(under: .accounts) { record in records[record.key] = record.stored }
        return records
    }

    /// Puts an older copy in the place of what is there, as from a backup. Nobody sees it half done.
    func putBack(_ records: [RecordKey: StoredRecord]) async throws {
        self.state.withLock { $0.isBeingReplaced = true }
        defer { self.state.withLock { $0.isBeingReplaced = false } }
        while self.state.withLock({ $0.users > 0 }) { await Task.yield() }
        for (key, record) in try await self.copy() { try await self.store.remove(key, expecting: record.version) }
        for (key, record) in records {
            try await self.store.write(record.value, at: key, as: record.version, expecting: nil)
        }
    }

    /// Flips a bit of what is read at `key`.
    func spoil(_ key: RecordKey) {
        self.state.withLock { _ = $0.spoiled.insert(key) }
    }

    func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        let (fault, isSpoiled) = self.state.withLock { ($0.fault, $0.spoiled.contains(key)) }
        if case .away = fault { throw .away }
        await self.enter()
        defer { self.leave() }
        let stored = try await self.store.read(key)
        self.state.withLock { $0.reads += 1 }
        guard let record = stored, isSpoiled else { return stored }
        var bytes = record.value.bytes
        bytes[bytes.count / 2] ^= 1
        return StoredRecord(version: record.version, value: SealedBytes(bytes: bytes))
    }

    func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        let fault = self.state.withLock { state in
            if case .none = state.fault {} else { state.refusedWrites += 1 }
            return state.fault
        }
        await self.enter()
        defer { self.leave() }
        switch fault {
        case .none: try await self.store.write(value, at: key, as: version, expecting: expecting)
        case .away: throw .away
        case .full: throw .full
        }
    }

    func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        await self.enter()
        defer { self.leave() }
        try await self.store.remove(key, expecting: expecting)
    }

    private func enter() async {
        while !self.state.withLock({ $0.enter() }) { await Task.yield() }
    }

    private func leave() { self.state.withLock { $0.users -= 1 } }

    var guarantees: StoreGuarantees { StoreGuarantees(reach: .process) }

    func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        try await self.store.records(under: prefix, after: after, limit: limit)
    }

    func changes() -> AsyncStream<RecordChange> {
        if self.isSilent { return AsyncStream { _ in } }
        return self.store.changes()
    }
}
