import Glibc
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Incarnations whose store other hosts reach too, and may lose what it has acknowledged.
@Suite struct SharedStateDirectoryTests: IncarnationSuite {
    let directory: TemporaryDirectory
    let keyRing = KeyRing(current: .random())

    init() throws {
        self.directory = try TemporaryDirectory()
    }

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
        #expect(await register.inheritAll().committed == 0)
        #expect(await register.inheritAll(hasFailedOver: true).committed == 1)
        #expect(try await store.accounts.read(self.alice)?.record == self.success)
        #expect(await register.inheritAll(hasFailedOver: true) == Inheritance())
        try self.age("boots/\(dead)", by: 700)
        #expect(await register.inheritAll() == Inheritance())
        #expect(self.directory.bytes(of: "journal/\(dead)") == nil)
    }

    @Test func `a journal that nobody has taken over for an hour is kept as long as any other`() async throws {
        let store = try await self.open(self.shared)
        let dead = try await self.killed(store, keeping: self.success)
        try self.age("boots/\(dead)", by: 3_700)

        let register = try self.begin(store)
        #expect(await register.inheritAll().incarnations == 1)
        #expect(self.directory.bytes(of: "journal/\(dead)") != nil)

        for file in ["journal", "boots"] {
            try self.age("boots/\(dead)", by: file == "journal" ? 700 : 3_700)
            _ = await register.inheritAll()
            #expect(self.directory.bytes(of: "\(file)/\(dead)") == nil)
        }
    }

    @Test func `an empty journal of a dead incarnation goes at once`() async throws {
        let store = try await self.open(self.shared)
        let dead = try await self.killed(store)

        #expect(try await self.begin(store).isDead(dead))

        #expect(self.directory.bytes(of: "journal/\(dead)") == nil)
        #expect(self.directory.bytes(of: "boots/\(dead)") != nil)
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
        for hasFailedOver in [false, true] {
            #expect(await register.inheritAll(hasFailedOver: hasFailedOver) == Inheritance())
        }
        #expect(self.directory.bytes(of: "journal/\(dead)") != nil)

        #expect(disposed.withLock { $0 } == [self.success])
        #expect(try await store.accounts.read(self.alice)?.record == replaced)
    }
}
