import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageSQLite

struct MigratingTokenStoreTests {
    private let alice = RecordKey.account("alice")
    private let old = SealedBytes(bytes: [1, 2, 3])
    private let new = SealedBytes(bytes: [4, 5, 6])

    /// A clause is checked while the records move after so many calls; at once for 0, never for `nil`.
    @Test(arguments: TokenStoreContract.clauses, [nil, 0, 1, 2, 3, 7, 40])
    func `it satisfies the store contract before, while and after the replicas go over`(
        clause: TokenStoreContract.Clause,
        calls: Int?
    ) async throws {
        let stores = try await MigratingStores(from: MemoryTokenStore(), to: MemoryTokenStore())

        try await stores.check(clause, goingOverAfter: calls)
    }

    @Test(arguments: TokenStoreContract.clauses, [true, false])
    func `it satisfies the store contract between a database and memory`(
        clause: TokenStoreContract.Clause,
        isFromDatabase: Bool
    ) async throws {
        let files = try TemporaryDirectory()
        let database = try await SQLiteTokenStore.open(at: files.path(of: "tokens.db"))
        let stores =
            isFromDatabase
            ? try await MigratingStores(from: database, to: MemoryTokenStore())
            : try await MigratingStores(from: MemoryTokenStore(), to: database)

        try await stores.check(clause, goingOverAfter: 3)
        await database.close()
    }

    @Test func `a record is moved when it is changed, and others when nobody uses them`() async throws {
        let stores = try await MigratingStores(from: MemoryTokenStore(), to: MemoryTokenStore())
        let keys = (0..<50).map { RecordKey.account("account-\($0)") }
        for key in keys { try await stores.replicas[0].write(self.old, at: key, as: .first, expecting: nil) }

        try await stores.goOver()
        try await stores.replicas[1].write(self.new, at: keys[7], as: Version(2), expecting: .first)

        #expect(try await stores.current.read(keys[7])?.value == self.new)
        #expect(try await stores.previous.read(keys[7]) == nil)
        #expect(try await stores.current.read(keys[8]) == nil)
        #expect(try await stores.replicas[0].read(keys[8])?.value == self.old)

        await stores.drain()

        for key in keys {
            #expect(try await stores.previous.read(key) == nil)
            #expect(try await stores.current.read(key)?.version == (key == keys[7] ? Version(2) : .first))
        }
        #expect(try await StoreMigration.isWhole(stores.current, keys: stores.keys))
    }

    @Test func `calls wait while the replicas go over, and then go on in the other store`() async throws {
        let stores = try await MigratingStores(from: MemoryTokenStore(), to: MemoryTokenStore())
        try await stores.replicas[0].write(self.old, at: self.alice, as: .first, expecting: nil)
        #expect(stores.replicas[0].leave())
        #expect(stores.replicas[1].leave())

        async let writing: Void = stores.replicas[0].write(self.new, at: self.alice, as: Version(2), expecting: .first)
        #expect(try await stores.previous.read(self.alice)?.version == .first)
        try await stores.replicas[0].commit()
        #expect(try await stores.replicas[0].goOver())
        try await writing

        #expect(try await stores.current.read(self.alice)?.value == self.new)
        #expect(try await stores.previous.read(self.alice) == nil)
    }

    @Test func `a replica that stood still while the others went over does not take a moved record for a missing one`()
        async throws
    {
        let stores = try await MigratingStores(from: MemoryTokenStore(), to: MemoryTokenStore())
        let (mover, sleeper) = (stores.replicas[0], stores.replicas[1])
        try await mover.write(self.old, at: self.alice, as: .first, expecting: nil)
        _ = mover.leave()
        try await mover.commit()
        #expect(try await mover.goOver())
        try await mover.write(self.new, at: self.alice, as: Version(2), expecting: .first)

        await #expect(throws: StoreError(.unreachable, "")) { try await sleeper.read(self.alice) }
        await #expect(throws: StoreError(.unreachable, "")) {
            try await sleeper.write(self.new, at: self.alice, as: Version(3), expecting: .first)
        }
        await #expect(throws: StoreError(.unreachable, "")) {
            try await sleeper.write(self.new, at: .account("bob"), as: .first, expecting: nil)
        }
        await #expect(throws: StoreError(.unreachable, "")) {
            try await sleeper.records(under: .accounts, after: nil, limit: 10)
        }

        _ = sleeper.leave()
        #expect(try await sleeper.goOver())
        #expect(try await sleeper.read(self.alice)?.value == self.new)
        // Its late write is there too: the outcome was unknown.
        #expect(try await sleeper.read(.account("bob"))?.value == self.new)
    }

    @Test func `a late change of a record that was copied and not yet removed moves up too`() async throws {
        let stores = try await MigratingStores(from: MemoryTokenStore(), to: MemoryTokenStore())
        try await stores.replicas[0].write(self.old, at: self.alice, as: .first, expecting: nil)
        try await stores.goOver()
        // A process ended between the two steps, and then a stopped one went on.
        try await stores.current.write(self.old, at: self.alice, as: .first, expecting: nil)
        try await stores.previous.write(self.new, at: self.alice, as: Version(9), expecting: .first)

        await stores.drain()

        #expect(try await stores.replicas[0].read(self.alice)?.version == Version(9))
        #expect(try await stores.current.read(self.alice)?.value == self.new)
        #expect(try await stores.previous.read(self.alice) == nil)
    }

    @Test func `a move that has not ended is turned around, and nothing is lost`() async throws {
        let stores = try await MigratingStores(from: MemoryTokenStore(), to: MemoryTokenStore())
        let keys = (0..<20).map { RecordKey.account("account-\($0)") }
        for key in keys { try await stores.replicas[0].write(self.old, at: key, as: .first, expecting: nil) }
        try await stores.goOver()
        for key in keys[..<10] {
            try await stores.replicas[0].write(self.new, at: key, as: Version(2), expecting: .first)
        }
        // A process ended after it had copied one and before it had removed it.
        try await stores.current.write(self.old, at: keys[15], as: .first, expecting: nil)

        let back = try await StoreMigration(to: stores.previous, from: stores.current, keys: stores.keys)
        let replica = MigratingTokenStore(back)
        // Before it goes over, both stores count as they did.
        for (index, key) in keys.enumerated() {
            #expect(try await replica.read(key)?.version == (index < 10 ? Version(2) : .first))
        }
        #expect(replica.leave())
        try await replica.commit()
        #expect(try await replica.goOver())
        await replica.moveAllRecords()

        for (index, key) in keys.enumerated() {
            #expect(try await stores.previous.read(key)?.version == (index < 10 ? Version(2) : .first))
            #expect(try await stores.current.read(key) == nil)
        }
        // The first direction is closed now.
        await #expect(throws: StoreError(.moved, "")) {
            _ = try await OpenedStore.openExisting(stores.current, keys: stores.keys).wholePlace()
        }
        _ = try await OpenedStore.openExisting(stores.previous, keys: stores.keys).wholePlace()
    }

    @Test func `a move can be turned around while a replica of the first direction still runs`() async throws {
        let stores = try await MigratingStores(from: MemoryTokenStore(), to: MemoryTokenStore())
        try await stores.replicas[0].write(self.old, at: self.alice, as: .first, expecting: nil)
        try await stores.goOver()
        let back = try await StoreMigration(to: stores.previous, from: stores.current, keys: stores.keys)
        let replica = MigratingTokenStore(back)

        // The first direction ends meanwhile.
        await stores.drain()

        try await replica.write(self.new, at: self.alice, as: Version(2), expecting: .first)
        try await replica.write(self.new, at: .account("bob"), as: .first, expecting: nil)
        #expect(try await replica.read(.account("carol")) == nil)
        #expect(try await stores.replicas[0].read(self.alice)?.version == Version(2))
    }

    @Test func `a failover of the source that loses the commit does not part the replicas`() async throws {
        let source = FaultyTokenStore()
        let stores = try await MigratingStores(from: source, to: MemoryTokenStore())
        try await stores.replicas[0].write(self.old, at: self.alice, as: .first, expecting: nil)
        try await stores.goOver()
        source.lose(1)

        // One starts now: it goes on with the move.
        let migration = try await StoreMigration(to: stores.current, from: source, keys: stores.keys)
        let starting = MigratingTokenStore(migration)
        #expect(starting.phase == .after)
        #expect(try await starting.read(self.alice)?.value == self.old)
        await starting.moveAllRecords()

        #expect(try await stores.current.read(self.alice)?.value == self.old)
        await #expect(throws: StoreError(.moved, "")) {
            _ = try await OpenedStore.openExisting(source, keys: stores.keys).wholePlace()
        }
    }

    @Test func `what the two stores are to each other is put back where a failover has lost it`() async throws {
        let (source, target) = (FaultyTokenStore(), FaultyTokenStore())
        let stores = try await MigratingStores(from: source, to: target)
        try await stores.replicas[0].write(self.old, at: self.alice, as: .first, expecting: nil)
        for store in [source, target] { store.erase(.place) }

        try await stores.goOver()
        await stores.drain()

        // A start finds the same move, which is done.
        #expect(try await StoreMigration(to: target, from: source, keys: stores.keys).isDone)
        #expect(try await target.read(self.alice)?.value == self.old)
    }

    @Test func `a replica that has gone over says so again in a source that has forgotten it`() async throws {
        let source = FaultyTokenStore()
        let stores = try await MigratingStores(from: source, to: MemoryTokenStore())
        let beforeCommit = source.history.count
        try await stores.goOver()

        try await withThrowingTaskGroup { tasks in
            tasks.addTask { await stores.replicas[0].run { _ in } }
            try await within("the move is done") {
                while stores.replicas[0].progress.state != .done { await Task.yield() }
            }
            source.lose(source.history.count - beforeCommit)
            source.announceReconnect(toAnotherServer: true)

            try await within("the source knows that it was moved away") {
                let opened = try await OpenedStore.openExisting(source, keys: stores.keys)
                while (try? await opened.wholePlace()) != nil { await Task.yield() }
            }
            tasks.cancelAll()
        }
    }

    /// Runs a replica that has gone over, until it has looked at the place of its source several times.
    private func run(_ replica: MigratingTokenStore, until source: FaultyTokenStore, isReadTimes count: Int)
        async throws
    {
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { await replica.run { _ in } }
            try await within("looks at the source") {
                while source.count(of: .read, at: .place) < count { await Task.yield() }
            }
            tasks.cancelAll()
        }
    }

    @Test func `a replica of a move that was turned around takes nothing back when it wakes up`() async throws {
        // Given a replica that stands still while the others move on, and back
        let (source, target) = (FaultyTokenStore(), FaultyTokenStore())
        let own = source.connect()
        let stores = try await MigratingStores(from: [source, own], to: [target, target.connect()])
        try await stores.goOver()
        let back = MigratingTokenStore(try await StoreMigration(to: source, from: target, keys: stores.keys))
        #expect(back.leave())
        try await back.commit()
        #expect(try await back.goOver())
        await back.moveAllRecords()
        try await source.write(self.old, at: self.alice, as: .first, expecting: nil)

        // When it runs on
        try await self.run(stores.replicas[1], until: own, isReadTimes: own.count(of: .read, at: .place) + 3)

        // Then the records stay
        #expect(try await source.read(self.alice)?.value == self.old)
        #expect(try await target.read(self.alice) == nil)
        _ = try await OpenedStore.openExisting(source, keys: stores.keys).wholePlace()
    }

    @Test func `a target from before a move back does not count when it is put back`() async throws {
        let (source, target) = (FaultyTokenStore(), FaultyTokenStore())
        let stores = try await MigratingStores(from: source, to: target)
        try await stores.goOver()
        let backup = target.history
        let back = MigratingTokenStore(try await StoreMigration(to: source, from: target, keys: stores.keys))
        #expect(back.leave())
        try await back.commit()
        #expect(try await back.goOver())
        await back.moveAllRecords()

        target.history = backup

        await #expect(throws: StoreError(.moved, "")) {
            _ = try await StoreMigration(to: target, from: source, keys: stores.keys)
        }
    }

    @Test func `a former store that was emptied stays empty`() async throws {
        let source = FaultyTokenStore()
        let own = source.connect()
        let stores = try await MigratingStores(from: [own], to: [MemoryTokenStore()])
        try await stores.goOver()
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { await stores.replicas[0].run { _ in } }
            try await within("the move is done") {
                while stores.replicas[0].progress.state != .done { await Task.yield() }
            }
            source.history = StoreHistory()
            let looks = own.count(of: .read, at: .place)
            source.announceReconnect(toAnotherServer: true)
            try await within("a look at the source") {
                while own.count(of: .read, at: .place) == looks { await Task.yield() }
            }
            tasks.cancelAll()
        }
        #expect(source.history.count == 0)
    }

    @Test func `records move on from store to store, and back to the first`() async throws {
        let (first, second, third) = (MemoryTokenStore(), MemoryTokenStore(), MemoryTokenStore())
        let start = try await MigratingStores(from: first, to: second)
        try await start.replicas[0].write(self.old, at: self.alice, as: .first, expecting: nil)
        try await start.goOver()
        await start.drain()
        for (source, target) in [(second, third), (third, first), (first, second)] {
            let migration = try await StoreMigration(to: target, from: source, keys: start.keys)
            let replica = MigratingTokenStore(migration)
            #expect(replica.leave())
            try await replica.commit()
            #expect(try await replica.goOver())
            await replica.moveAllRecords()
            #expect(try await target.read(self.alice)?.value == self.old)
            #expect(try await source.read(self.alice) == nil)
        }
    }

    @Test func `an account is not written anew where it was moved away from`() async throws {
        let stores = try await MigratingStores(from: MemoryTokenStore(), to: MemoryTokenStore())
        let account = AccountID("alice")
        // A gateway that is not configured for the move, and stands still.
        var sleeper = try await OpenedStore.openExisting(stores.previous, keys: stores.keys)
        sleeper.moves = { 0 }
        let version = try await sleeper.accounts.write(.sample(), for: account, expecting: nil)
        try await stores.goOver()
        await stores.drain()

        await #expect(throws: StoreError(.unreachable, "")) { try await sleeper.accounts.read(account) }
        await #expect(throws: StoreError(.unreachable, "")) {
            try await sleeper.accounts.write(.sample(), for: account, expecting: version)
        }
        await #expect(throws: StoreError(.unreachable, "")) {
            try await sleeper.accounts.write(.sample(), for: account, expecting: nil)
        }
    }

    @Test func `a change that may still land keeps a replica from leaving`() async throws {
        let faulty = FaultyTokenStore()
        let stores = try await MigratingStores(from: faulty, to: MemoryTokenStore())
        faulty.fail(by: { $0.operation == .write ? .unanswered : .none })
        await #expect(throws: StoreError(.unreachable, "")) {
            try await stores.replicas[0].write(self.old, at: self.alice, as: .first, expecting: nil)
        }
        faulty.recover()

        #expect(!stores.replicas[0].leave())
        #expect(stores.replicas[1].leave())
    }
}
