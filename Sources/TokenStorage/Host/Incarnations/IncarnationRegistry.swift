internal import FoundationEssentials
package import SystemSupport
package import TokenModel

/// This incarnation (start of the program), which holds a lock until it ends so that other processes on this host can
/// see it, and what it knows about their incarnations.
///
/// An incarnation is reported dead only after its journal has been taken over. Otherwise a process could spend a
/// refresh token whose successor is in that journal. The file of a dead incarnation stays for one hour, so that the
/// other processes on this host find it dead too. After that, its remaining claims are waited out like those of another
/// host. Where a failover may lose what the store has acknowledged, its journal stays for ten minutes, as the entries of
/// a running one do, and after a failover what was lost is committed again.
///
/// A lock that was taken under another kernel boot proves the end of a process only if no other host uses the store. If
/// other hosts use it, the journal is taken over all the same, because committing an entry twice has the effect of
/// committing it once. But the incarnation is not reported dead, and its files are removed only if nobody has changed
/// them for an hour.
///
/// Runs on a dispatch queue of its own, because its calls block.
package actor IncarnationRegistry: IncarnationWitness, SuccessJournal {
    private let executor = BlockingExecutor(label: "martlet.boots")
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe self.executor.asUnownedSerialExecutor()
    }

    private let files: IncarnationFiles
    private let store: OpenedStore
    private let dispose: TokenDisposal
    private let wantsJournal: Bool
    /// Whether a lock also proves the end of a process under another kernel boot: no other host uses the store.
    private let isHostsAlone: Bool
    /// The lock of this incarnation; `nil` after ``close(leavesNothing:)``.
    private var own: IncarnationLock?
    private let incarnation: IncarnationID
    private var journal: JournalFile?
    private var dead: Set<IncarnationID> = []
    /// Incarnations whose journal stays and whose committed and dropped entries have been counted.
    private var counted: Set<IncarnationID> = []

    /// How long the file of a dead incarnation stays, in seconds.
    private static let deadFileRetention = 3_600
    /// How long the journal of a dead incarnation stays, in seconds.
    private let deadJournalRetention: Int

    /// Begins an incarnation: locks its file, and makes its journal if one is wanted.
    ///
    /// - Parameters:
    ///   - journal: the size of the journal; `nil`: what the store does not take is not saved on disk.
    ///   - kernel: the id of the kernel boot, if not that of the running kernel.
    ///   - dispose: handles tokens from the journals of ended incarnations that the store no longer accepts.
    /// - Throws: if the lock can't be made. If only the journal can't be made, the process runs without it; see
    ///   ``lacksJournal``.
    package init(
        _ incarnation: IncarnationID,
        in stateDirectory: String,
        _ store: OpenedStore,
        journal capacity: JournalCapacity?,
        kernel: String? = nil,
        _ dispose: @escaping TokenDisposal
    ) throws(SystemCallError) {
        var files = IncarnationFiles(stateDirectory: stateDirectory, storeID: store.storeID)
        if let kernel { files.kernel = kernel }
        let path = files.journalPath(of: incarnation)
        self.files = files
        self.store = store
        self.dispose = dispose
        self.incarnation = incarnation
        self.wantsJournal = capacity != nil
        self.isHostsAlone = store.store.guarantees.reach != .network
        let losesSuffix = store.store.guarantees.failover == .losesSuffix
        self.deadJournalRetention = losesSuffix ? JournalCapacity.sharedRetention : 0
        self.own = try files.begin(incarnation)
        // A small journal is better than none.
        let seal = store.journalSeal(of: incarnation)
        let make = { (capacity: JournalCapacity) in try? JournalFile(making: path, seal, capacity) }
        self.journal = capacity.flatMap { make($0) ?? make($0.least) }
    }

    /// Whether a journal is wanted and could not be made.
    package var lacksJournal: Bool { self.wantsJournal && self.journal == nil }

    package func isDead(_ incarnation: IncarnationID) async -> Bool {
        guard incarnation != self.incarnation else { return false }
        if !self.dead.contains(incarnation) { _ = await self.inherit(from: incarnation) }
        return self.dead.contains(incarnation)
    }

    /// Finds incarnations that have ended, and takes over their journals. Also erases what this one's journal needs no more.
    ///
    /// - Parameter hasFailedOver: the store may have lost what was taken over before.
    package func inheritAll(hasFailedOver: Bool = false) async -> Inheritance {
        var sum = Inheritance()
        self.own?.touch(under: self.files.kernel)
        self.journal?.dropSettled()
        for incarnation in self.files.all() where incarnation != self.incarnation {
            if let inherited = await self.inherit(from: incarnation, again: hasFailedOver) { sum = sum + inherited }
        }
        return sum
    }

    package func keep(_ record: AccountRecord, for account: AccountID) async -> JournalPlace? {
        self.journal?.keep(JournalEntry(account: account, record: record))
    }

    package func release(_ place: JournalPlace) async {
        self.journal?.release(place)
    }

    /// Ends the incarnation. If its journal is empty, all its files are removed.
    ///
    /// - Parameter leavesNothing: whether the store, too, holds nothing of this incarnation. If not, the lock file
    ///   stays, so that other processes can tell that the incarnation has ended.
    package func close(leavesNothing: Bool = true) {
        if self.journal?.isEmpty != false {
            self.journal?.remove()
            if leavesNothing { self.own?.remove() }
        } else if leavesNothing, self.journal?.isSettled == true {
            self.own?.markEnd()
        }
        self.journal = nil
        self.own = nil
    }

    /// - Parameter again: commits what was taken over before, where the store has it no more.
    /// - Returns: `nil` if there is no proof that `incarnation` has ended.
    private func inherit(from incarnation: IncarnationID, again: Bool = false) async -> Inheritance? {
        guard let lock = self.files.seize(incarnation) else { return nil }
        let now = Int(Date.now.timeIntervalSince1970)
        guard lock.isOfStore else {
            // A process that uses the other store takes the journal over. If there is no journal, the file can go.
            if !self.files.hasJournal(incarnation), lock.isOlder(than: Self.deadFileRetention, at: now) {
                lock.remove()
            }
            return nil
        }
        let path = self.files.journalPath(of: incarnation)
        let isProof = self.isHostsAlone || lock.isUnder(self.files.kernel)
        let isStale = lock.isOlder(than: Self.deadFileRetention, at: now)
        // The mark counts from when the incarnation was found dead.
        let isSafe =
            self.deadJournalRetention == 0
            || lock.isMarkedDead && lock.isOlder(than: self.deadJournalRetention, at: now)
        // What it owed has been committed or disposed of.
        let isTakenOver = isProof && lock.isMarkedDead
        var (sum, isEmpty) = (Inheritance(), false)
        do throws(SystemCallError) {
            if !isTakenOver || again {
                let contents = try JournalFile.contents(at: path, self.store.journalSeal(of: incarnation))
                let accounts = self.store.accounts
                sum =
                    isTakenOver
                    ? await accounts.restore(contents.entries + contents.settled)
                    : await accounts.inherit(contents.entries, self.dispose) + accounts.restore(contents.settled)
                sum.unopened = contents.unopened
                sum.missingKeys = Set(contents.locked.keys)
                isEmpty = contents.entries.isEmpty && contents.settled.isEmpty
            }
            if sum.isWhole, isProof ? isSafe || isEmpty : isStale { try PrivateDirectory.remove(path) }
        } catch {
            return nil
        }
        guard sum.isWhole else {
            if sum.unopened > 0, !self.counted.insert(incarnation).inserted { (sum.committed, sum.dropped) = (0, 0) }
            return sum
        }
        guard isProof else {
            if isStale { lock.remove() }
            if !self.counted.insert(incarnation).inserted { (sum.committed, sum.dropped) = (0, 0) }
            return sum
        }
        if self.dead.insert(incarnation).inserted, !lock.hasEndedInOrder { sum.incarnations = 1 }
        lock.markDead()
        // Nobody finds a journal without its incarnation's file.
        if isStale, isSafe || isEmpty { lock.remove() }
        // Hold the lock up to here, across all suspension points.
        withExtendedLifetime(lock) {}
        return sum
    }
}

extension OpenedStore {
    func journalSeal(of incarnation: IncarnationID) -> JournalSeal {
        JournalSeal(incarnation, keys: self.keys, storeID: self.storeID)
    }
}

/// Proves that other incarnations of this program have ended.
package protocol IncarnationWitness: Sendable {
    /// Whether `incarnation` has certainly ended and the successes in its journal are in the store. `false` proves
    /// nothing: the incarnation may be running, or be on another host.
    func isDead(_ incarnation: IncarnationID) async -> Bool
}
