import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// A store that has lost acknowledged writes, as after a backup was restored under the running gateway.
@Suite(.simulated) struct FallenStoreTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()
    private let bob = AccountID("bob")

    /// Refreshes once, so that the store is at generation 2.
    private func refresh(_ replica: Replica) async throws {
        let answer = await replica.ask().value
        #expect(answer.generation == Generation(2))
        try await replica.hasLanded()
    }

    @Test func `a lost generation is put back unchanged, under a version that nobody has seen`() async throws {
        try await self.house.put(.expired())
        let backup = self.house.store.history
        try await self.house.withReplica(self.provider) { replica in
            try await self.refresh(replica)
            let lost = try await self.house.vault.read(alice)

            self.house.store.history = backup
            await replica.engine.reread(alice)

            let found = try await self.house.vault.read(alice)
            #expect(found?.record == lost?.record)
            #expect(try #require(found?.version) > #require(lost?.version))
            #expect(replica.engine.repairCount == 1)
        }
    }

    @Test func `I5_a record that is put back takes over the former providers of the replaced one`() async throws {
        try await self.house.put(.expired())
        let backup = self.house.store.history
        try await self.house.withReplica(self.provider) { replica in
            try await self.refresh(replica)
            self.house.store.history = backup
            let fallen = try #require(try await self.house.vault.read(alice))
            var adopted = fallen.record
            adopted.formerProviders = [ProviderID("before")]
            _ = try await self.house.vault.write(adopted, for: alice, expecting: fallen.version)

            await replica.engine.reread(alice)

            let found = try await self.house.record()
            #expect(found?.generation == Generation(2))
            #expect(found?.formerProviders == [ProviderID("before")])
        }
    }

    @Test func `a refresh token that was rotated away is not sent again`() async throws {
        try await self.house.put(.expired())
        let backup = self.house.store.history
        self.provider.issue(lifetime: .seconds(10))
        try await self.house.withReplica(self.provider) { replica in
            try await self.refresh(replica)
            self.house.store.history = backup
            await self.house.clock.pass(.seconds(10))

            #expect(await replica.ask().value.generation == Generation(3))
            #expect(self.provider.spent == ["rt-0", "rt-1"])
        }
    }

    @Test func `after a loss no account is claimed for 3 s, in which all known accounts are read`() async throws {
        try await self.house.put(.expired())
        try await self.house.put(.expired(), for: self.bob)
        let backup = self.house.store.history
        let bobs = ScriptedTokenEndpoint()
        let plans = [
            AccountConfiguration(account: alice, provider: acme, endpoint: self.provider),
            AccountConfiguration(account: self.bob, provider: acme, endpoint: bobs),
        ]
        bobs.issue(lifetime: .seconds(10))
        try await self.house.withReplica(plans, of: [self.provider, bobs]) { replica in
            try await self.refresh(replica)
            _ = await replica.ask(self.bob).value
            try await replica.hasLanded()
            let lost = try await self.house.record(of: self.bob)
            await self.house.clock.pass(.seconds(10))
            self.house.store.history = backup
            let begin = self.house.clock.now

            await replica.engine.reread(alice)
            await self.house.clock.settle()
            #expect(try await self.house.record(of: self.bob) == lost)
            #expect(await replica.ask(self.bob).value.generation == Generation(3))

            #expect(begin.duration(to: self.house.clock.now) == .seconds(3))
            #expect(bobs.spent == ["rt-0", "rt-1"])
            #expect(replica.engine.repairCount == 2)
        }
    }

    @Test func `after a reconnect to another server a replica that knows of no loss claims no account for 3 s`()
        async throws
    {
        try await self.house.put(.expired())
        try await self.house.withReplica(self.provider) { replica in
            await self.house.clock.settle()
            let begin = self.house.clock.now

            self.house.store.announceReconnect(toAnotherServer: true)
            await self.house.clock.settle()

            #expect(await replica.ask().value.generation == Generation(2))
            #expect(begin.duration(to: self.house.clock.now) == .seconds(3))
        }
    }

    @Test func `after a reconnect to another server no account is claimed for 3 s, in which lost ones are put back`()
        async throws
    {
        try await self.house.put(.expired())
        let backup = self.house.store.history
        self.provider.issue(lifetime: .seconds(10))
        try await self.house.withReplica(self.provider) { replica in
            try await self.refresh(replica)
            let lost = try await self.house.record()
            self.house.store.history = backup
            await self.house.clock.pass(.seconds(10))
            let begin = self.house.clock.now

            self.house.store.announceReconnect(toAnotherServer: true)

            await self.house.clock.settle()
            #expect(try await self.house.record() == lost)
            #expect(await replica.ask().value.generation == Generation(3))
            #expect(begin.duration(to: self.house.clock.now) == .seconds(3))
            #expect(self.provider.spent == ["rt-0", "rt-1"])
        }
    }

    @Test func `a record whose read fails after a reconnect to another server is read again, and put back in time`()
        async throws
    {
        try await self.house.put(.expired())
        let backup = self.house.store.history
        try await self.house.withReplica(self.provider) { replica in
            try await self.refresh(replica)
            let lost = try await self.house.record()
            self.house.store.history = backup
            self.house.store.fail(.away, [.read])
            self.house.store.announceReconnect(toAnotherServer: true)
            await self.house.clock.pass(.seconds(1))
            #expect(self.house.store.history.count == backup.count)

            self.house.store.recover()

            await self.house.clock.pass(.seconds(1))
            #expect(try await self.house.record() == lost)
        }
    }

    @Test func `a replica without a lease puts nothing back, since the records may have been moved`() async throws {
        try await self.house.put(.expired())
        let backup = self.house.store.history
        try await self.house.withReplica(self.provider) { replica in
            try await self.refresh(replica)
            let lost = try await self.house.record()
            self.house.store.history = backup
            self.house.kills.holdsLease = false
            await replica.engine.reread(alice)
            #expect(try await self.house.record() == .expired())

            self.house.kills.holdsLease = true
            await replica.engine.reread(alice)
            #expect(try await self.house.record() == lost)
        }
    }

    @Test func `a reconnect to the same server delays no claim, however often it happens`() async throws {
        try await self.house.put(.expired())
        try await self.house.withReplica(self.provider) { replica in
            await self.house.clock.settle()
            for _ in 0..<3 { self.house.store.announceReconnect(toAnotherServer: false) }
            #expect(await replica.ask().value.generation == Generation(2))
            #expect(self.house.clock.now == Moment.start.boot)
        }
    }

    @Test func `a flight whose claim was lost commits over the stored record`() async throws {
        try await self.house.put(.expired())
        let backup = self.house.store.history
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let asked = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            self.house.store.history = backup
            self.provider.release()

            let answer = await asked.value

            #expect(answer.generation == Generation(2))
            #expect(try await self.house.record()?.generation == Generation(2))
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    @Test func `I1_a claim is put back while its token request is open, so that nobody else sends the refresh token`()
        async throws
    {
        // Given a store without hints, so that the process does not hear of its own claim
        let house = Cluster(store: FaultyTokenStore(hints: false))
        try await house.put(.expired())
        let backup = house.store.history
        self.provider.hold()
        try await house.withReplica(self.provider) { replica in
            let asked = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            let claimed = try await house.record()
            house.store.history = backup

            await replica.engine.reread(alice)

            #expect(claimed?.claim != nil)
            #expect(try await house.record() == claimed)
            self.provider.release()
            _ = await asked.value
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    @Test func `at equal generations the store's record counts`() async throws {
        try await self.house.put(.valid())
        let backup = self.house.store.history
        try await self.house.put(.valid().with { $0.failureRecord = .sample(reason: "not_sent.connect_failed") })
        try await self.house.withReplica(self.provider) { replica in
            _ = await replica.ask().value
            try await replica.hasLanded()
            self.house.store.history = backup

            await replica.engine.reread(alice)
            let status = await replica.engine.status(of: alice)

            #expect(try await self.house.record() == .valid())
            #expect(status?.lastError == nil)
            #expect(replica.engine.repairCount == 0)
        }
    }

    @Test(arguments: [true, false])
    func `another grant in the store counts, unless the kill log says that it was replaced`(isTold: Bool) async throws {
        let replaced = AccountRecord.valid(grant: GrantID("before"))
        try await self.house.put(replaced)
        let backup = self.house.store.history
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            _ = await replica.ask().value
            try await replica.hasLanded()
            if isTold { try await self.house.kills.changed(alice, grant: GrantID("g")) }
            self.house.store.history = backup

            await replica.engine.reread(alice)

            #expect(try await self.house.record() == (isTold ? .valid() : replaced))
        }
    }

    @Test func `a record that is gone is put back`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            _ = await replica.ask().value
            try await replica.hasLanded()
            self.house.store.history = StoreHistory()

            let answer = await replica.engine.status(of: alice)

            #expect(answer?.state == .valid)
            #expect(try await self.house.record() == .valid())
        }
    }

    @Test func `a record that only the journal holds does not count as lost by the store`() async throws {
        var house = self.house
        house.journal = ListedJournal()
        try await house.put(.expired())
        self.provider.hold()
        try await house.withReplica(self.provider) { replica in
            let asked = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            house.store.fail(.full)
            self.provider.release()
            let answer = await asked.value

            await replica.engine.reread(alice)

            #expect(answer.generation == Generation(2))
            #expect(replica.engine.repairCount == 0)
            house.store.recover()
        }
    }

    @Test func `a lost claim is put back, so that no other replica sends the refresh token meanwhile`() async throws {
        try await self.house.put(.expired())
        let backup = self.house.store.history
        self.provider.hold()
        try await self.house.withReplica(self.provider) { first in
            try await self.house.withReplica(self.provider) { second in
                _ = first.ask()
                try await until("the use") { self.provider.heldCount == 1 }
                let claim = try await self.house.record()?.claim
                for replica in [first, second] { _ = await replica.engine.status(of: alice) }
                self.house.store.history = backup

                _ = second.ask()
                // Longer than the time without claims after a loss, and shorter than the claim's term.
                await self.house.clock.pass(.seconds(6))

                #expect(claim != nil)
                #expect(try await self.house.record()?.claim == claim)
                #expect(self.provider.spent == ["rt-0"])
                self.provider.release()
                try await until("the commit") { try await self.house.record()?.generation == Generation(2) }
            }
        }
    }

    @Test func `a success that only the journal holds survives a loss, and the next refresh works`() async throws {
        var withJournal = self.house
        withJournal.journal = ListedJournal()
        let house = withJournal
        try await house.put(.expired())
        let backup = house.store.history
        self.provider.issue(lifetime: .seconds(10))
        self.provider.hold()
        try await house.withReplica(self.provider) { replica in
            let asked = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            house.store.fail(.full)
            self.provider.release()
            _ = await asked.value
            self.house.store.history = backup
            house.store.recover()
            try await until("the commit", within: .seconds(1)) { try await house.record()?.generation == Generation(2) }
            try await replica.hasLanded()
            await house.clock.pass(.seconds(10))

            #expect(await replica.ask().value.generation == Generation(3))
            #expect(self.provider.spent == ["rt-0", "rt-1"])
        }
    }

    @Test func `a known record that an import has replaced is not put back`() async throws {
        try await self.house.put(.expired())
        let backup = self.house.store.history
        try await self.house.withReplica(self.provider) { replica in
            try await self.refresh(replica)
            // Another replica has imported tokens, and this one has not read them yet.
            try await self.house.kills.changed(alice, grant: GrantID("imported"))
            self.house.store.history = backup

            await replica.engine.reread(alice)

            #expect(try await self.house.record() == .expired())
            #expect(replica.engine.repairCount == 0)
        }
    }

    @Test func `I2_a generation is put back where the log lacks the import of its grant`() async throws {
        try await self.house.put(.expired())
        let backup = self.house.store.history
        // Given the entry of an earlier import: the process of the last one ended before it wrote its own
        try await self.house.kills.changed(alice, grant: GrantID("earlier"))
        _ = self.house.kills.change { $0.skip(Epoch(8)) }
        try await self.house.withReplica(self.provider) { replica in
            try await self.refresh(replica)
            self.house.store.history = backup

            await replica.engine.reread(alice)

            #expect(try await self.house.record()?.generation == Generation(2))
            #expect(replica.engine.repairCount == 1)
        }
    }
}
