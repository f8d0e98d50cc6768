import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Which grants a stop may lose that does not wait for providers.
@Suite(.simulated) struct AbandonedGrantsTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()

    @Test func `an account is exposed from the use of its refresh token until the new one is stored`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            #expect(replica.engine.exposedAccounts == [])
            let caller = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            #expect(replica.engine.exposedAccounts == [alice])
            self.provider.release()
            #expect(await caller.value.generation == Generation(2))
            #expect(replica.engine.exposedAccounts == [])
            #expect(replica.engine.abandonedAccounts == [])
        }
    }

    @Test func `a request that is cut short abandons its account, and one that was refused or answered does not`()
        async throws
    {
        for (verdict, abandoned) in [
            (TokenVerdict.ambiguous(.timedOut), [alice]), (.notSent(.connectFailed), []), (.refused(.timedOut), []),
        ] as [(TokenVerdict, [AccountID])] {
            let (house, provider) = (Cluster(), ScriptedTokenEndpoint())
            try await house.put(.expired())
            provider.hold()
            provider.answer(verdict)
            try await house.withReplica(provider) { replica in
                _ = replica.ask()
                try await until("the use") { provider.heldCount == 1 }
                replica.engine.stopNow()
                provider.release()
                await replica.running.value
                #expect(replica.engine.abandonedAccounts == abandoned, "\(verdict)")
                #expect(replica.engine.exposedAccounts == [], "\(verdict)")
            }
        }
    }

    @Test func `tokens that came and can't be stored any more abandon their account`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            _ = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            self.house.store.fail(.away, [.write])
            self.provider.release()
            try await until("the answer") { self.provider.heldCount == 0 }
            #expect(replica.engine.exposedAccounts == [alice])
            replica.engine.stopNow()
            try await replica.hasLanded()
            #expect(replica.engine.abandonedAccounts == [alice])
            self.house.store.recover()
        }
    }
}
