internal import Simulation
internal import Synchronization
internal import TestKit
internal import TokenModel
internal import TokenStorage

/// A machine: its clocks, and the disk with what its processes leave to each other.
final class SimulatedHost: Sendable {
    private struct Entry {
        let entry: JournalEntry
        var isSettled = false
    }

    private struct Disk {
        var processes: [IncarnationID: SimulatedProcess] = [:]
        var journals: [IncarnationID: [JournalPlace: Entry]] = [:]
        var places = 0
        /// Since when an incarnation with a journal is known to have ended.
        var foundDead: [IncarnationID: BootInstant] = [:]
        var killLog: [KillLogFileEntry] = []
        var pendingKills: [String: Secret] = [:]
    }

    let clock: SimulatedClock
    private let disk = Mutex(Disk())

    init(_ clock: SimulatedClock) { self.clock = clock }

    /// The incarnation holds its lock until the process ends.
    func begin(_ incarnation: IncarnationID, _ process: SimulatedProcess) {
        self.disk.withLock { $0.processes[incarnation] = process }
    }

    /// Whether the lock of an incarnation of this host is free.
    func hasEnded(_ incarnation: IncarnationID) -> Bool {
        self.disk.withLock { $0.processes[incarnation]?.hasEnded == true }
    }

    /// Whether some journal has the refresh token.
    func keeps(_ refreshToken: String) -> Bool { self.keeps { $0.refreshToken?.text == refreshToken } }

    /// Whether the journal of one process has it.
    func keeps(_ refreshToken: String, of incarnation: IncarnationID) -> Bool {
        self.disk.withLock { disk in
            disk.journals[incarnation]?.values.contains { $0.entry.record.tokens?.refreshToken?.text == refreshToken }
                ?? false
        }
    }

    func keeps(accessToken: String) -> Bool { self.keeps { $0.accessToken?.text == accessToken } }

    private func keeps(_ isWanted: (TokenSet) -> Bool) -> Bool {
        self.disk.withLock { disk in
            disk.journals.values.contains { journal in
                journal.values.contains { $0.entry.record.tokens.map(isWanted) ?? false }
            }
        }
    }

    func keep(_ entry: JournalEntry, of incarnation: IncarnationID) -> JournalPlace {
        self.disk.withLock { disk in
            disk.places += 1
            let place = JournalPlace(blocks: disk.places..<disk.places + 1)
            disk.journals[incarnation, default: [:]][place] = Entry(entry: entry)
            return place
        }
    }

    /// Settled entries stay for a failover that loses them, where the store may lose any.
    func release(_ place: JournalPlace, of incarnation: IncarnationID, keeps: Bool) {
        self.disk.withLock { disk in
            if keeps {
                disk.journals[incarnation]?[place]?.isSettled = true
            } else {
                disk.journals[incarnation]?[place] = nil
            }
        }
    }

    func journal(of incarnation: IncarnationID) -> (owed: [JournalEntry], settled: [JournalEntry]) {
        let entries = self.disk.withLock { $0.journals[incarnation] ?? [:] }
            .sorted { $0.key.blocks.lowerBound < $1.key.blocks.lowerBound }.map(\.value)
        return (entries.filter { !$0.isSettled }.map(\.entry), entries.filter(\.isSettled).map(\.entry))
    }

    func isFoundDead(_ incarnation: IncarnationID) -> Bool {
        self.disk.withLock { $0.foundDead[incarnation] != nil }
    }

    /// - Returns: since when it is known that the incarnation has ended; `nil` if it was not known.
    func foundDead(_ incarnation: IncarnationID, at now: BootInstant) -> BootInstant? {
        self.disk.withLock { disk in
            defer { disk.foundDead[incarnation] = disk.foundDead[incarnation] ?? now }
            return disk.foundDead[incarnation]
        }
    }

    func removeJournal(of incarnation: IncarnationID) { self.disk.withLock { $0.journals[incarnation] = nil } }

    /// The incarnations of this host that have left a journal.
    var leavers: [IncarnationID] {
        self.disk.withLock { disk in disk.journals.keys.filter { disk.processes[$0]?.hasEnded == true } }
            .sorted { $0.rawValue < $1.rawValue }
    }

    var killLog: [KillLogFileEntry] { self.disk.withLock { $0.killLog } }

    func add(_ entries: [KillLogFileEntry]) {
        self.disk.withLock { disk in
            let ids = Set(disk.killLog.map(\.id))
            disk.killLog += entries.filter { !ids.contains($0.id) }
        }
    }

    var pendingKills: [Secret] { self.disk.withLock { $0.pendingKills.sorted { $0.key < $1.key }.map(\.value) } }
    func keep(pendingKill bytes: Secret, id: String) { self.disk.withLock { $0.pendingKills[id] = bytes } }
    func drop(pendingKill id: String) -> Bool { self.disk.withLock { $0.pendingKills.removeValue(forKey: id) != nil } }
}

/// A host as one of its processes uses it.
struct HostConnection: HostState {
    let host: SimulatedHost
    let incarnation: IncarnationID
    let process: SimulatedProcess
    let vault: AccountVault
    let cluster: SimulatedCluster
    let limitations: [String] = []
    var storeEndsWithProcess: Bool { false }

    func isDead(_ incarnation: IncarnationID) async -> Bool {
        guard incarnation != self.incarnation, self.host.hasEnded(incarnation) else { return false }
        return await self.inherit(from: incarnation)
    }

    /// Takes over the journals of all that have ended here.
    func inheritAll(hasFailedOver: Bool = false) async {
        for incarnation in self.host.leavers { _ = await self.inherit(from: incarnation, again: hasFailedOver) }
    }

    private func inherit(from incarnation: IncarnationID, again: Bool = false) async -> Bool {
        if again || !self.host.isFoundDead(incarnation) {
            let journal = self.host.journal(of: incarnation)
            let sum = await self.vault.inherit(journal.owed) { _, _ in } + self.vault.restore(journal.settled)
            guard sum.isWhole, !self.process.hasEnded else { return false }
        }
        let now = self.cluster.simulation.now
        let since = self.host.foundDead(incarnation, at: now)
        if !self.keepsSettled || since.map({ $0.duration(to: now) > .seconds(600) }) ?? false {
            self.host.removeJournal(of: incarnation)
        }
        return true
    }

    func keep(_ record: AccountRecord, for account: AccountID) async -> JournalPlace? {
        guard !self.process.hasEnded, self.cluster.mutation != .commitsAreGivenUp else { return nil }
        if let token = record.tokens?.refreshToken { self.cluster.provider.journalled(token.text) }
        defer { self.cluster.strike(self.process, 0.05) }
        return self.host.keep(JournalEntry(account: account, record: record), of: self.incarnation)
    }

    func release(_ place: JournalPlace) async {
        guard !self.process.hasEnded else { return }
        self.host.release(place, of: self.incarnation, keeps: self.keepsSettled)
    }

    private var keepsSettled: Bool {
        self.vault.guarantees.failover == .losesSuffix && self.cluster.mutation != .nothingIsPutBack
    }

    func entries() async throws(StoreError) -> [KillLogFileEntry] { self.host.killLog }

    func add(_ entries: [KillLogFileEntry]) async throws(StoreError) {
        if !self.process.hasEnded { self.host.add(entries) }
    }

    func keep(pendingKill bytes: Secret, id: String) async throws(StoreError) {
        guard !self.process.hasEnded, self.cluster.mutation != .ordersAreDropped else { return }
        self.host.keep(pendingKill: bytes, id: id)
    }

    func pendingKills() async throws(StoreError) -> [Result<Secret, StoreError>] {
        self.host.pendingKills.map { .success($0) }
    }

    func drop(pendingKill id: String) async -> Bool { !self.process.hasEnded && self.host.drop(pendingKill: id) }
}
