import Glibc
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Several incarnations in one `state_dir`. A registry that is released without ``IncarnationRegistry/close()`` looks
/// to the others like a killed process: the kernel releases its lock.
@Suite struct IncarnationRegistryTests {
    private let directory: TemporaryDirectory
    private let keyRing = KeyRing(current: .random())
    private let alice = AccountID("alice")
    private let success = AccountRecord.sample(grant: "g", generation: 2)

    init() throws {
        self.directory = try TemporaryDirectory()
    }

    private func open(_ store: any TokenStore = MemoryTokenStore()) async throws -> OpenedStore {
        try await OpenedStore.open(store, keys: GivenKeyRing(self.keyRing, name: "test"))
    }

    private func begin(
        _ store: OpenedStore,
        as incarnation: IncarnationID = .random(),
        journal: JournalCapacity? = .least,
        kernel: String? = nil,
        _ dispose: @escaping TokenDisposal = { _, _ in }
    ) throws -> IncarnationRegistry {
        try IncarnationRegistry(incarnation, in: self.directory.path, store, journal: journal, kernel: kernel, dispose)
    }

    /// Begins an incarnation that keeps `records` and is then killed.
    private func killed(_ store: OpenedStore, keeping records: AccountRecord...) async throws -> IncarnationID {
        let incarnation = IncarnationID.random()
        do {
            let register = try self.begin(store, as: incarnation)
            for record in records { #expect(await register.keep(record, for: self.alice) != nil) }
        }
        try await self.waitForLock(of: incarnation)
        return incarnation
    }

    /// Waits until no process holds the lock of a killed boot's register.
    private func waitForLock(of incarnation: IncarnationID) async throws {
        let path = self.directory.path(of: "boots/\(incarnation)")
        try await eventually("its lock to go") {
            let file = unsafe Glibc.open(path, O_RDONLY)
            defer {
                // Unlock first, because a process that another test starts now may have inherited the file.
                _ = flock(file, LOCK_UN)
                close(file)
            }
            return flock(file, LOCK_EX | LOCK_NB) == 0
        }
    }

    @Test func `a command sees whether an incarnation has ended, without a file of its own`() async throws {
        let (store, other) = (try await self.open(), try await self.open())
        let (ended, running) = (try await self.killed(store), IncarnationID.random())
        let registry = try self.begin(store, as: running)
        #expect(store.isEnded(ended, in: self.directory.path))
        #expect(!store.isEnded(running, in: self.directory.path))
        #expect(!store.isEnded(.random(), in: self.directory.path))
        #expect(!other.isEnded(ended, in: self.directory.path))
        #expect(await registry.isDead(ended))
    }

    @Test func `a running incarnation is not reported dead, and a killed one is`() async throws {
        let store = try await self.open()
        let dead = try await self.killed(store)
        let lives = IncarnationID.random()
        let other = try self.begin(store, as: lives)
        let register = try self.begin(store)

        #expect(await register.isDead(dead))
        #expect(await !register.isDead(lives))
        #expect(await other.isDead(dead))
        await other.close()
    }

    @Test func `nothing is inferred about its own boot, a boot without a file, and invalid incarnation names`()
        async throws
    {
        let store = try await self.open()
        let incarnation = IncarnationID.random()
        let register = try self.begin(store, as: incarnation)
        try self.directory.write([], to: "elsewhere")

        #expect(await !register.isDead(incarnation))
        #expect(await !register.isDead(.random()))
        #expect(await !register.isDead(IncarnationID("../elsewhere")))
        #expect(await !register.isDead(IncarnationID("")))
    }

    @Test func `a link or another file type in place of an incarnation's file proves nothing`() async throws {
        let store = try await self.open()
        let register = try self.begin(store)
        let (linked, pipe) = (IncarnationID.random(), IncarnationID.random())
        try self.directory.write([], to: "elsewhere")
        try #require(
            unsafe symlink(self.directory.path(of: "elsewhere"), self.directory.path(of: "boots/\(linked)")) == 0
        )
        try self.directory.makePipe("boots/\(pipe)")

        #expect(await !register.isDead(linked))
        #expect(await !register.isDead(pipe))
    }

    @Test func `only the owner can read the files`() async throws {
        let incarnation = IncarnationID.random()
        let register = try self.begin(try await self.open(), as: incarnation)

        for name in ["boots", "journal"] { #expect(try self.directory.mode(of: name) == 0o700, "\(name)") }
        for name in ["boots/\(incarnation)", "journal/\(incarnation)"] {
            #expect(try self.directory.mode(of: name) == 0o600, "\(name)")
        }
        await register.close()
    }

    @Test func `an incarnation that closes in order leaves no files`() async throws {
        let incarnation = IncarnationID.random()
        let register = try self.begin(try await self.open(), as: incarnation)
        let place = try #require(await register.keep(self.success, for: self.alice))
        await register.release(place)

        await register.close()

        #expect(self.directory.bytes(of: "boots/\(incarnation)") == nil)
        #expect(self.directory.bytes(of: "journal/\(incarnation)") == nil)
    }

    @Test func `an incarnation that closes but stays in the store is known to be dead`() async throws {
        let store = try await self.open()
        let incarnation = IncarnationID.random()
        let register = try self.begin(store, as: incarnation)
        let other = try self.begin(store)
        #expect(await !other.isDead(incarnation))

        await register.close(leavesNothing: false)

        #expect(await other.isDead(incarnation))
    }

    @Test func `I19_a success in the journal of a killed boot is committed once by the next boot`() async throws {
        let store = try await self.open()
        let spent = AccountRecord.sample(grant: "g", generation: 1)
        _ = try await store.accounts.write(spent, for: self.alice, expecting: nil)
        let dead = try await self.killed(store, keeping: self.success)
        let register = try self.begin(store)

        let first = await register.inheritAll()
        let second = await register.inheritAll()

        #expect([first.incarnations, first.committed, first.dropped, first.left] == [1, 1, 0, 0])
        #expect(second == Inheritance())
        #expect(try await store.accounts.read(self.alice)?.record == self.success)
        #expect(self.directory.bytes(of: "journal/\(dead)") == nil)
    }

    @Test func `a success committed over a record that a kill emptied keeps the killed tokens known`()
        async throws
    {
        let store = try await self.open()
        var swept = AccountRecord.sample(grant: "g", generation: 1)
        swept.rememberKilled()
        swept.tokens = nil
        _ = try await store.accounts.write(swept, for: self.alice, expecting: nil)
        _ = try await self.killed(store, keeping: self.success)

        let inherited = try await self.begin(store).inheritAll()

        let record = try await store.accounts.read(self.alice)?.record
        #expect(inherited.committed == 1)
        #expect(record?.tokens == self.success.tokens)
        #expect(record?.killed == swept.killed)
        #expect(record?.hasKilled(Secret("rt-1")) == true)
    }

    @Test func `a success still owed when its boot closes in order is committed by the next boot`() async throws {
        let store = try await self.open()
        let incarnation = IncarnationID.random()
        let first = try self.begin(store, as: incarnation)
        _ = await first.keep(self.success, for: self.alice)
        await first.close()

        let inherited = try await self.begin(store).inheritAll()

        #expect(inherited.committed == 1)
        #expect(try await store.accounts.read(self.alice)?.record == self.success)
    }

    @Test func `a success older than the account's generation is dropped`() async throws {
        let store = try await self.open()
        let later = AccountRecord.sample(grant: "g", generation: 3)
        _ = try await store.accounts.write(later, for: self.alice, expecting: nil)
        _ = try await self.killed(store, keeping: self.success)

        let inherited = try await self.begin(store).inheritAll()

        #expect([inherited.committed, inherited.dropped] == [0, 1])
        #expect(try await store.accounts.read(self.alice)?.record == later)
    }

    @Test func `tokens without a place in the store stay in the journal until they can be disposed of`()
        async throws
    {
        let store = try await self.open()
        let other = AccountRecord.sample(grant: "other", generation: 1)
        _ = try await store.accounts.write(other, for: self.alice, expecting: nil)
        let dead = try await self.killed(store, keeping: self.success)
        let busy = try self.begin(store) { _, _ throws(StoreError) in throw StoreError(.unreachable, "not now") }

        #expect(await busy.inheritAll().left == 1)
        #expect(await !busy.isDead(dead))
        let taken = Mutex<[Secret?]>([])
        let free = try self.begin(store) { record, _ in taken.withLock { $0.append(record.tokens?.refreshToken) } }

        #expect(await free.isDead(dead))
        #expect(taken.withLock { $0 } == [self.success.tokens?.refreshToken])
        #expect(self.directory.bytes(of: "journal/\(dead)") == nil)
    }

    @Test func `a released success is not committed`() async throws {
        let store = try await self.open()
        let incarnation = IncarnationID.random()
        do {
            let register = try self.begin(store, as: incarnation)
            let place = try #require(await register.keep(self.success, for: self.alice))
            await register.release(place)
        }
        try await self.waitForLock(of: incarnation)

        let inherited = try await self.begin(store).inheritAll()

        #expect([inherited.incarnations, inherited.committed, inherited.dropped] == [1, 0, 0])
        #expect(try await store.accounts.read(self.alice) == nil)
    }

    @Test func `an incarnation is not reported dead while the store does not accept its successes`() async throws {
        let faulty = FaultyTokenStore()
        let store = try await self.open(faulty)
        let dead = try await self.killed(store, keeping: self.success)
        let register = try self.begin(store)
        faulty.fail(.full)

        #expect(await !register.isDead(dead))
        #expect(await register.inheritAll().left == 1)
        faulty.recover()

        #expect(await register.isDead(dead))
        #expect(try await store.accounts.read(self.alice)?.record == self.success)
    }

    @Test func `a dead incarnation's file stays for an hour, so that every process of the host finds it dead`()
        async throws
    {
        let store = try await self.open()
        let dead = try await self.killed(store)
        let (first, second) = (try self.begin(store), try self.begin(store))

        #expect(await first.inheritAll().incarnations == 1)
        #expect(await second.inheritAll().incarnations == 1)
        #expect(self.directory.bytes(of: "boots/\(dead)") != nil)
        try self.age("boots/\(dead)", by: 3_700)
        _ = await first.inheritAll()

        #expect(self.directory.bytes(of: "boots/\(dead)") == nil)
        #expect(await first.isDead(dead))
    }

    @Test func `an incarnation without a journal begins nonetheless and keeps nothing`() async throws {
        let register = try self.begin(try await self.open(), journal: nil)

        #expect(await register.keep(self.success, for: self.alice) == nil)
        #expect(await !register.lacksJournal)
    }

    @Test func `a released place is used for the next success`() async throws {
        let register = try self.begin(try await self.open())
        var places: [JournalPlace] = []
        for _ in 0..<3 {
            if let place = await register.keep(self.success, for: self.alice) { places.append(place) }
        }
        try #require(Set(places).count == 3)

        await register.release(places[1])

        #expect(await register.keep(self.success, for: self.alice) == places[1])
    }

    @Test func `an incarnation of another store is ignored, and so is its journal`() async throws {
        let (store, another) = (try await self.open(), try await self.open())
        let dead = try await self.killed(another, keeping: self.success)
        let register = try self.begin(store)

        #expect(await register.inheritAll() == Inheritance())
        #expect(await !register.isDead(dead))

        #expect(try await self.begin(another).inheritAll().committed == 1)
    }

    // MARK: - Hosts

    /// A store that several hosts can reach.
    private var shared: FaultyTokenStore {
        FaultyTokenStore(StoreGuarantees(reach: .network, failover: .losesSuffix))
    }

    @Test(arguments: [true, false])
    func `a free lock of another kernel's boot proves its end only if the store belongs to this host alone`(
        isShared: Bool
    ) async throws {
        let store = try await self.open(isShared ? self.shared : MemoryTokenStore())
        let dead = IncarnationID.random()
        do { _ = try self.begin(store, as: dead, kernel: "6c2f-another") }
        try await self.waitForLock(of: dead)
        let register = try self.begin(store)

        #expect(await register.isDead(dead) == !isShared)
        #expect(self.directory.bytes(of: "boots/\(dead)") != nil)
        #expect((self.directory.bytes(of: "journal/\(dead)") == nil) == !isShared)
    }

    @Test
    func `the journal of another kernel's incarnation is inherited, and removed once its file is old`()
        async throws
    {
        // Given an incarnation on a machine that has restarted since, or on another machine that shares the directory
        let store = try await self.open(self.shared)
        let spent = AccountRecord.sample(grant: "g", generation: 1)
        _ = try await store.accounts.write(spent, for: self.alice, expecting: nil)
        let gone = IncarnationID.random()
        do {
            let register = try self.begin(store, as: gone, kernel: "6c2f-another")
            #expect(await register.keep(self.success, for: self.alice) != nil)
        }
        try await self.waitForLock(of: gone)
        let register = try self.begin(store)

        // When its journal is inherited
        let first = await register.inheritAll()
        // Then the store has the owed success, once, and the files stay, because the incarnation may still run
        #expect([first.incarnations, first.committed, first.left] == [0, 1, 0])
        #expect(try await store.accounts.read(self.alice)?.record == self.success)
        #expect(await register.inheritAll().committed == 0)
        #expect(self.directory.bytes(of: "journal/\(gone)") != nil)
        try self.age("boots/\(gone)", by: 3_700)
        _ = await register.inheritAll()
        #expect(self.directory.bytes(of: "journal/\(gone)") == nil)
        #expect(self.directory.bytes(of: "boots/\(gone)") == nil)
    }

    @Test func `a running incarnation updates its file's modification time`() async throws {
        let incarnation = IncarnationID.random()
        let register = try self.begin(try await self.open(), as: incarnation)
        let path = self.directory.path(of: "boots/\(incarnation)")
        let longAgo = timeval(tv_sec: 1_000, tv_usec: 0)
        try #require(unsafe utimes(path, [longAgo, longAgo]) == 0)

        _ = await register.inheritAll()
        var status = stat()
        try #require(unsafe stat(path, &status) == 0)
        #expect(status.st_mtim.tv_sec > 1_000)
    }

    // MARK: - Entries that the store has acknowledged

    @Test func `I2_an acknowledged success that the store loses is committed again by the next boot`() async throws {
        // Given a store that accepts a success, and loses it when its writer is killed
        let shared = self.shared
        let store = try await self.open(shared)
        let spent = AccountRecord.sample(grant: "g", generation: 1)
        let version = try await store.accounts.write(spent, for: self.alice, expecting: nil)
        let dead = IncarnationID.random()
        do {
            let capacity = JournalCapacity(fileSize: 1 << 20, retention: .seconds(600))
            let register = try self.begin(store, as: dead, journal: capacity)
            let place = try #require(await register.keep(self.success, for: self.alice))
            _ = try await store.accounts.write(self.success, for: self.alice, expecting: version)
            await register.release(place)
        }
        try await self.waitForLock(of: dead)
        shared.lose(1)
        #expect(try await store.accounts.read(self.alice)?.record == spent)

        // When the next boot inherits its journal, at first while the store takes nothing, the success is there again
        let register = try self.begin(store)
        shared.fail(.full)
        #expect(await register.inheritAll().left == 1)
        #expect(await !register.isDead(dead))
        shared.recover()
        #expect(await register.inheritAll().committed == 1)
        #expect(try await store.accounts.read(self.alice)?.record == self.success)

        // And if the store loses it once more soon after, too
        shared.lose(1)
        #expect(await register.inheritAll().committed == 1)
        #expect(try await store.accounts.read(self.alice)?.record == self.success)
        #expect(await register.inheritAll() == Inheritance())
        try self.age("boots/\(dead)", by: 700)
        #expect(await register.inheritAll() == Inheritance())
        #expect(self.directory.bytes(of: "journal/\(dead)") == nil)
    }

    @Test func `tokens that a shared store no longer accepts are disposed of once`() async throws {
        // Given a success of a grant that another one has replaced since
        let store = try await self.open(self.shared)
        let dead = try await self.killed(store, keeping: self.success)
        let replaced = AccountRecord.sample(grant: "h", generation: 1)
        _ = try await store.accounts.write(replaced, for: self.alice, expecting: nil)
        let disposed = Mutex<[AccountRecord]>([])
        let register = try self.begin(store) { record, _ in disposed.withLock { $0.append(record) } }

        // When its journal is inherited again and again
        #expect(await register.inheritAll().dropped == 1)
        #expect(await register.inheritAll() == Inheritance())
        #expect(self.directory.bytes(of: "journal/\(dead)") != nil)

        #expect(disposed.withLock { $0 } == [self.success])
        #expect(try await store.accounts.read(self.alice)?.record == replaced)
    }

    /// Moves the modification time of a file back.
    private func age(_ file: String, by seconds: Int) throws {
        let then = timeval(tv_sec: time(nil) - seconds, tv_usec: 0)
        try #require(unsafe utimes(self.directory.path(of: file), [then, then]) == 0)
    }
}
