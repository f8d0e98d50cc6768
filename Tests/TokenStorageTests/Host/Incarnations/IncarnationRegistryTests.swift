import Glibc
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage

@Suite struct IncarnationRegistryTests: IncarnationSuite {
    let directory: TemporaryDirectory
    let keyRing = KeyRing(current: .random())

    init() throws {
        self.directory = try TemporaryDirectory()
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
}
