import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// What a host's disk adds to the store: a journal, and the knowledge which incarnations have ended.
@Suite(.simulated) struct LocalRemainsTests {
    private let journal = ListedJournal()

    @Test func `I13_callers are served from the journal while the store rejects writes, and it is emptied afterwards`()
        async throws
    {
        var house = Cluster()
        house.journal = self.journal
        let (cluster, endpoint, journal) = (house, ScriptedTokenEndpoint(), self.journal)
        try await house.put(.expired())
        endpoint.hold()

        try await house.withReplica(endpoint) { replica in
            let first = replica.ask()
            try await until("the exchange to begin") { endpoint.heldCount == 1 }
            cluster.store.fail(.full)
            endpoint.release()

            #expect(await first.value.generation == Generation(2))
            #expect(journal.kept.map(\.generation) == [Generation(2)])
            #expect(try await cluster.record()?.generation == Generation(1))
            #expect(await replica.ask().value.generation == Generation(2))

            cluster.store.recover()
            try await until("the store to have it", within: .seconds(1)) {
                try await cluster.record()?.generation == Generation(2) && journal.kept.isEmpty
            }
        }
        #expect(self.journal.asked == 1)
        #expect(endpoint.spent == ["rt-0"])
    }

    @Test(arguments: [true, false])
    func `I13_nobody is served a token that neither store nor journal accepts`(hasJournal: Bool) async throws {
        var house = Cluster()
        if hasJournal { house.journal = self.journal }
        let (cluster, endpoint) = (house, ScriptedTokenEndpoint())
        self.journal.spoil()
        try await house.put(.expired())
        endpoint.hold()

        try await house.withReplica(endpoint) { replica in
            let asked = replica.ask()
            try await until("the exchange to begin") { endpoint.heldCount == 1 }
            cluster.store.fail(.full)
            endpoint.release()
            try await until("some tries", within: .seconds(2)) { cluster.store.failedWrites >= 5 }

            #expect(replica.events.isEmpty)
            #expect(replica.engine.waiterCount == 1)
            cluster.store.recover()
            #expect(await asked.value.generation == Generation(2))
            #expect(try await cluster.record()?.generation == Generation(2))
        }
        #expect(endpoint.spent == ["rt-0"])
    }

    @Test func `I19_tokens that only the journal holds stay there when the process is stopped`() async throws {
        var house = Cluster()
        house.journal = self.journal
        let (cluster, endpoint) = (house, ScriptedTokenEndpoint())
        try await house.put(.expired())
        endpoint.hold()

        try await house.withReplica(endpoint) { replica in
            let asked = replica.ask()
            try await until("the exchange to begin") { endpoint.heldCount == 1 }
            cluster.store.fail(.full)
            endpoint.release()
            _ = await asked.value
            replica.engine.stop()
        }

        #expect(self.journal.kept.map(\.tokens?.refreshToken) == [Secret("rt-1")])
        #expect(endpoint.revoked.isEmpty)
    }

    @Test func `the claim of an incarnation that has ended is broken without waiting`() async throws {
        var house = Cluster()
        house.witness = ListedWitness(dead: [FlightBench.others.incarnation])
        let (cluster, endpoint) = (house, ScriptedTokenEndpoint())
        try await house.put(.expired().with { $0.claim = FlightBench.others })

        try await house.withReplica(endpoint) { replica in
            #expect(await replica.ask().value.generation == Generation(2))
        }

        #expect(cluster.clock.now == Moment.start.boot)
    }

    @Test func `the claim of an incarnation that may still run is broken only after its term`() async throws {
        var house = Cluster()
        house.witness = ListedWitness(dead: [IncarnationID("some other")])
        let (cluster, endpoint) = (house, ScriptedTokenEndpoint())
        try await house.put(.expired().with { $0.claim = FlightBench.others })

        try await house.withReplica(endpoint) { replica in
            _ = replica.ask()
            try await until("the claim to lapse", within: .seconds(20)) { !endpoint.spent.isEmpty }
            #expect(await replica.ask().value.generation == Generation(2))
        }

        #expect(Moment.start.boot.duration(to: cluster.clock.now) == .seconds(12))
    }
}
