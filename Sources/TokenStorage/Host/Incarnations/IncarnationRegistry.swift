internal import FoundationEssentials
package import LocalFiles
package import TokenModel

/// This start of the program, known to the others on this host by a lock that it holds to its end; and what it knows of
/// those others.
///
/// An incarnation that is found dead has its journal taken over first: only then is it told to be dead, so that nobody spends a
/// refresh token anew whose successor stands in that journal. Its file stays for an hour after that, so that the other
/// processes on this host find it dead too; then its claims, if any are left, are waited out like those of another host.
///
/// A lock that was taken under another incarnation of the kernel proves an end only where the store is this host's alone. Else the
/// journal is taken over all the same, since what is committed twice is committed once; but nobody is told dead, and the
/// files go only when nobody has touched them for an hour.
///
/// Works on a thread of its own.
package actor IncarnationRegistry: IncarnationWitness, SuccessJournal {
    private let executor = BlockingExecutor(label: "martlet.boots")
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe self.executor.asUnownedSerialExecutor()
    }

    private let files: IncarnationFiles
    private let store: OpenedStore
    private let dispose: TokenDisposal
    private let wantsJournal: Bool
    /// Whether a lock proves an end also under another incarnation of the kernel.
    private let isHostsAlone: Bool
    /// `nil` after ``close()``.
    private var own: IncarnationLock?
    private let incarnation: IncarnationID
    private var journal: JournalFile?
    private var dead: Set<IncarnationID> = []
    /// Boots whose journal stays, and what opened of it has been counted.
    private var counted: Set<IncarnationID> = []

    /// How long a dead incarnation's file stays, in seconds.
    private static let burialTime = 3_600

    /// Begins an incarnation: locks its file, and makes its journal where one is wanted.
    ///
    /// - Parameters:
    ///   - journal: its room; `nil` where what the store does not take is not kept on the disk.
    ///   - kernel: the incarnation of the kernel, if not the one that runs.
    ///   - dispose: takes what the store has no place for, of the journals that are taken over.
    /// - Throws: where there can be no lock. A journal that can't be made is gone without, see ``lacksJournal``.
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
        self.own = try files.begin(incarnation)
        // A small one is better than none.
        let seal = store.journalSeal(of: incarnation)
        let make = { (capacity: JournalCapacity) in try? JournalFile(making: path, seal, capacity) }
        self.journal = capacity.flatMap { make($0) ?? make($0.least) }
    }

    /// Whether what the store does not take can't be kept on the disk, although it should.
    package var lacksJournal: Bool { self.wantsJournal && self.journal == nil }

    package func isDead(_ incarnation: IncarnationID) async -> Bool {
        guard incarnation != self.incarnation else { return false }
        if !self.dead.contains(incarnation) { _ = await self.inherit(from: incarnation) }
        return self.dead.contains(incarnation)
    }

    /// Looks for incarnations that have ended, and takes their journals over.
    package func inheritAll() async -> Inheritance {
        var sum = Inheritance()
        self.own?.touch(under: self.files.kernel)
        for incarnation in self.files.all() where incarnation != self.incarnation {
            if let inherited = await self.inherit(from: incarnation) { sum = sum + inherited }
        }
        return sum
    }

    package func keep(_ record: AccountRecord, for account: AccountID) async -> JournalPlace? {
        self.journal?.keep(JournalEntry(account: account, record: record))
    }

    package func release(_ place: JournalPlace) async {
        self.journal?.release(place)
    }

    /// Ends the incarnation in order: where nothing is left in its journal, nothing of it stays on the disk.
    ///
    /// - Parameter leavesNothing: also the store has nothing of it any more. Else its lock's file stays, so that others can
    ///   tell that it has ended.
    package func close(leavesNothing: Bool = true) {
        if self.journal?.isEmpty != false {
            self.journal?.remove()
            if leavesNothing { self.own?.remove() }
        }
        self.journal = nil
        self.own = nil
    }

    /// - Returns: `nil` where `incarnation` can't be told dead.
    private func inherit(from incarnation: IncarnationID) async -> Inheritance? {
        guard let lock = self.files.seize(incarnation) else { return nil }
        let now = Int(Date.now.timeIntervalSince1970)
        guard lock.isOfStore else {
            // Whoever uses that store takes it over; where there is nothing to take, the file goes.
            if !self.files.hasJournal(incarnation), lock.isOlder(than: Self.burialTime, at: now) { lock.remove() }
            return nil
        }
        let path = self.files.journalPath(of: incarnation)
        let isProof = self.isHostsAlone || lock.isUnder(self.files.kernel)
        let isStale = lock.isOlder(than: Self.burialTime, at: now)
        var sum = Inheritance()
        do throws(SystemCallError) {
            let contents = try JournalFile.contents(at: path, self.store.journalSeal(of: incarnation))
            let accounts = self.store.accounts
            sum = await accounts.inherit(contents.entries, self.dispose) + accounts.restore(contents.settled)
            sum.unopened = contents.unopened
            sum.missingKeys = Set(contents.locked.keys)
            if sum.isWhole, isProof || isStale { try PrivateDirectory.remove(path) }
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
        if self.dead.insert(incarnation).inserted { sum.incarnations = 1 }
        lock.bury()
        if isStale { lock.remove() }
        // The lock is held up to here, whatever was waited for.
        withExtendedLifetime(lock) {}
        return sum
    }
}

extension OpenedStore {
    func journalSeal(of incarnation: IncarnationID) -> JournalSeal {
        JournalSeal(incarnation, keys: self.keys, storeID: self.storeID)
    }
}

/// Tells of other starts of this program whether they have ended.
package protocol IncarnationWitness: Sendable {
    /// Whether `incarnation` has ended for certain, and the successes in its journal are in the store. `false` proves nothing: it
    /// may run, or be another host's.
    func isDead(_ incarnation: IncarnationID) async -> Bool
}
