import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// The effects of a kill on refreshes, imports and waiters.
@Suite(.simulated) struct KilledAccountsTests {
    private let house = Cluster()
    private let endpoint = ScriptedTokenEndpoint()

    private func kill(_ replica: Replica) {
        replica.engine.apply(self.house.kills.change { $0.raise(.account(alice), at: $0.last.next, holds: true) })
    }

    @Test func `given a kill, an account returns no credential and its cached credential is withdrawn`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.endpoint) { replica in
            #expect(await replica.ask().value.generation != nil)
            self.kill(replica)
            #expect(await replica.ask().value == .error(.killed))
            #expect(replica.events.last == .dropped(alice))
            #expect(await replica.engine.status(of: alice)?.state == .killed)
        }
        #expect(self.endpoint.spent.isEmpty)
    }

    @Test func `given a kill, the accounts show no last error, whether or not a refresh was tried since`() async throws
    {
        // Given two killed accounts
        let bob = AccountID("bob")
        try await self.house.put(.valid())
        try await self.house.put(.valid(), for: bob)
        try await self.house.withReplica(self.endpoint, accounts: [alice, bob]) { replica in
            replica.engine.apply(self.house.kills.change { $0.raise(.all, at: $0.last.next, holds: true) })

            // When a refresh of one of them is tried
            let refreshed = await replica.engine.refreshNow(alice)
            let other = await replica.engine.status(of: bob)

            // Then it fails, and both accounts show the same status
            #expect(refreshed?.refreshError == .killed)
            #expect(refreshed?.state == .killed)
            #expect(refreshed?.lastError == nil)
            #expect(other?.state == .killed)
            #expect(other?.lastError == nil)
        }
    }

    @Test func `given a kill that this process has not read yet, no refresh token is spent`() async throws {
        try await self.house.put(.expired())
        self.house.kills.changeAtNextRead { $0.raise(.all, at: $0.last.next, holds: true) }
        try await self.house.withReplica(self.endpoint) { replica in
            #expect(await replica.ask().value == .error(.killed))
        }
        #expect(self.endpoint.spent.isEmpty)
        #expect(try await self.house.record()?.claim == nil)
    }

    @Test func `given a kill that was lifted, the killed tokens are gone and imported ones are used`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.endpoint) { replica in
            self.kill(replica)
            await #expect(throws: AccountChangeError.self) {
                try await replica.engine.importTokens(Secret("rt-0"), for: alice)
            }
            replica.engine.apply(self.house.kills.change { $0.lift(.account(alice), at: $0.last.next) })
            #expect(await replica.ask().value == .error(.accountEmpty))
            let status = await replica.engine.status(of: alice)
            #expect(status?.state == .empty)
            #expect(status?.lastError == "tokens_killed")
            self.endpoint.answer(.success(.sample(5)))
            try await replica.engine.importTokens(Secret("rt-4"), for: alice)
            #expect(await replica.ask().value.generation == Generation(1))
            #expect(self.house.kills.changed == [alice])
            #expect(self.house.kills.takenAway.map(\.tokens?.refreshToken) == [Secret("rt-0")])
        }
    }

    @Test(arguments: [true, false])
    func `I2_an import that a kill has overtaken does not replace tokens that came after the kill`(
        isKilled: Bool
    ) async throws {
        try await self.house.put(.valid())
        let house = self.house
        try await house.withReplica(self.endpoint) { replica in
            // Given an import that has read the log, and then a kill, its end and another import by another replica
            house.store.beforeWrite(at: .account(alice.rawValue)) {
                let scope = KillScope.account(isKilled ? alice : AccountID("bob"))
                _ = house.kills.change { $0.raise(scope, at: $0.last.next, holds: true) }
                let epochs = house.kills.change { $0.lift(scope, at: $0.last.next) }
                try? await house.put(.valid(grant: GrantID("later")).with { $0.observedEpoch = epochs.last })
            }

            var refusal: AccountChangeError?
            do throws(AccountChangeError) {
                try await replica.engine.importTokens(Secret("rt-8"), for: alice)
            } catch {
                refusal = error
            }

            #expect(refusal?.code == (isKilled ? .killed : nil))
            // Of two imports at the same time, the last one counts.
            let grant = try await self.house.record()?.grant
            #expect((grant == GrantID("later")) == isKilled)
        }
    }

    @Test func `given removed tokens, they can't be imported again, but other tokens can`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.endpoint) { replica in
            _ = try await replica.engine.forget(alice)
            replica.engine.apply(self.house.kills.change { _ in })

            let status = await replica.engine.status(of: alice)
            #expect(status?.lastError == "tokens_removed")
            let refused = await #expect(throws: AccountChangeError.self) {
                try await replica.engine.importTokens(Secret("rt-0"), for: alice)
            }
            #expect(refused?.code == .killed)
            try await replica.engine.importTokens(Secret("rt-4"), for: alice)
        }
    }

    @Test(arguments: [(false, "was removed here: it"), (true, "was killed or removed here, and")])
    func `given removed tokens, the status does not call them killed`(wasKilled: Bool, what: String) async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.endpoint) { replica in
            if wasKilled {
                _ = self.house.kills.change { epochs in
                    epochs.raise(.all, at: epochs.last.next, holds: true)
                    epochs.lift(.all, at: epochs.last.next)
                }
            }
            // As if the sweep of dead tokens came first.
            replica.engine.apply(
                self.house.kills.change { $0.raise(.account(alice), at: $0.last.next, holds: false) }
            )

            let status = await replica.engine.status(of: alice)
            #expect(status?.state == .empty)
            #expect(status?.lastError == "tokens_removed")
            let refused = await #expect(throws: AccountChangeError.self) {
                try await replica.engine.importTokens(Secret("rt-0"), for: alice)
            }
            #expect(refused?.message.contains(what) == true)
            #expect(refused?.message.contains("stays dead") == true)
        }
    }

    @Test func `given a kill log that can't be read, no refresh token is spent`() async throws {
        try await self.house.put(.expired())
        self.house.kills.failReads()
        try await self.house.withReplica(self.endpoint) { replica in
            #expect(await replica.ask().value == .error(.storeLost))
        }
        #expect(self.endpoint.spent.isEmpty)
    }

    @Test func `given a kill that was lifted, a minting account mints again under another grant`() async throws {
        try await self.house.withReplica(self.endpoint, grant: .clientCredentials) { replica in
            #expect(await replica.ask().value.generation == Generation(1))
            let before = try await self.house.record()?.grant
            self.kill(replica)
            #expect(await replica.ask().value == .error(.killed))
            replica.engine.apply(self.house.kills.change { $0.lift(.account(alice), at: $0.last.next) })
            #expect(await replica.ask().value.generation == Generation(1))
            #expect(try await self.house.record()?.grant != before)
            #expect(self.endpoint.minted == 2)
        }
    }

    @Test func `given a kill right before a refresh is sent, the refresh token is not sent`() async throws {
        try await self.house.put(.expired())
        let kills = self.house.kills
        try await self.house.withReplica(self.endpoint) { replica in
            self.endpoint.whileConnecting {
                replica.engine.apply(kills.change { $0.raise(.account(alice), at: $0.last.next, holds: true) })
            }
            #expect(await replica.ask().value == .error(.killed))
        }
        #expect(self.endpoint.spent.isEmpty)
    }

    @Test(arguments: [true, false])
    func `given a kill and an import during a refresh, the refresh's tokens are recorded for revocation`(
        isLogReadable: Bool
    ) async throws {
        try await self.house.put(.expired())
        self.endpoint.hold()
        try await self.house.withReplica(self.endpoint) { replica in
            let asked = replica.ask()
            try await until("the provider to be asked") { self.endpoint.heldCount == 1 }
            self.kill(replica)
            #expect(await asked.value == .error(.killed))
            replica.engine.apply(self.house.kills.change { $0.lift(.account(alice), at: $0.last.next) })
            try await replica.engine.importTokens(Secret("rt-9"), for: alice)
            let imported = try await self.house.record()?.grant
            // As at the end of the process: it learns nothing new, and what it knows still applies.
            if !isLogReadable { self.house.kills.failReads() }
            self.endpoint.release()
            try await until("what came too late to be written down") {
                self.house.kills.takenAway.contains { $0.tokens?.refreshToken == Secret("rt-1") }
            }
            #expect(self.house.kills.takenAway.allSatisfy { $0.grant != imported })
        }
    }

    @Test(arguments: [("rt-0", nil), ("rt-new", "at-0")] as [(String, String?)])
    func `given a kill that was lifted, a killed token can't be imported before or after another import`(
        _ refreshToken: String,
        _ accessToken: String?
    ) async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.endpoint) { replica in
            self.kill(replica)
            replica.engine.apply(self.house.kills.change { $0.lift(.account(alice), at: $0.last.next) })
            func bringBack() async throws {
                try await replica.engine.importTokens(
                    Secret(refreshToken),
                    accessToken: accessToken.map { Secret($0) },
                    for: alice
                )
            }
            let early = await #expect(throws: AccountChangeError.self) { try await bringBack() }
            #expect(early?.code == .killed)
            #expect(early?.message.contains("stays dead") == true)
            try await replica.engine.importTokens(Secret("rt-other"), for: alice)
            let late = await #expect(throws: AccountChangeError.self) { try await bringBack() }
            #expect(late?.code == .killed)
            #expect(try await self.house.record()?.tokens?.refreshToken == Secret("rt-other"))
        }
    }

    @Test(arguments: [true, false])
    func `given a kill during an import, the import fails and its tokens are revoked`(isLifted: Bool) async throws {
        try await self.house.withReplica(self.endpoint) { replica in
            self.house.kills.changeAfterNextRead { epochs in
                epochs.raise(.account(alice), at: epochs.last.next, holds: true)
                if isLifted { epochs.lift(.account(alice), at: epochs.last.next) }
            }
            let error = await #expect(throws: AccountChangeError.self) {
                try await replica.engine.importTokens(Secret("rt-0"), for: alice)
            }
            #expect(error?.code == .killed)
            #expect(self.house.kills.storedDeadCount == 1)
        }
    }

    /// The provider that the tokens belonged to before their adoption.
    private let before = ProviderID("before")

    private func killProviderBefore(_ epochs: inout KillEpochs) {
        epochs.raise(.provider(self.before), at: epochs.last.next, holds: true)
    }

    @Test func `given a kill of the former provider during an adoption, the tokens are dead and not used`()
        async throws
    {
        try await self.house.put(.valid().with { $0.binding.provider = self.before })
        try await self.house.withReplica(self.endpoint) { replica in
            self.house.kills.changeAfterNextRead { self.killProviderBefore(&$0) }
            let error = await #expect(throws: AccountChangeError.self) { try await replica.engine.adopt(alice) }
            #expect(error?.code == .killed)
            #expect(error?.message.contains("martlet revive --provider before") == true)
            #expect(self.house.kills.storedDeadCount == 1)
            replica.engine.apply(try await self.house.kills.read())
            #expect(await replica.ask().value == .error(.killed))
        }
        #expect(self.endpoint.spent.isEmpty)
    }

    @Test func `given a kill of the former provider that the adopting process never saw, it still applies`()
        async throws
    {
        // Given tokens that were adopted by a process that ended right afterwards
        var adopted = AccountRecord.expired().with { $0.binding.provider = self.before }
        adopted.adopt(.acme)
        try await self.house.put(adopted)
        _ = self.house.kills.change { self.killProviderBefore(&$0) }

        // When another process reads the kill log
        try await self.house.withReplica(self.endpoint) { replica in
            #expect(await replica.ask().value == .error(.killed))

            // Then the tokens are dead even after the former provider is revived
            replica.engine.apply(self.house.kills.change { $0.lift(.provider(self.before), at: $0.last.next) })
            #expect(await replica.ask().value == .error(.accountEmpty))
        }
        #expect(self.endpoint.spent.isEmpty)
    }

    @Test func `given adopted tokens, a kill of the former provider withdraws their credential even after a refresh`()
        async throws
    {
        try await self.house.put(.valid().with { $0.binding.provider = self.before })
        self.endpoint.answer(.success(.sample(1)))
        try await self.house.withReplica(self.endpoint) { replica in
            try await replica.engine.adopt(alice)
            #expect(await replica.ask().value.generation == Generation(1))
            _ = await replica.engine.refreshNow(alice)
            let credentials = replica.events.compactMap { event in
                if case .installed(let credential) = event { credential } else { nil }
            }
            #expect(credentials.map(\.generation) == [Generation(1), Generation(2)])
            #expect(credentials.allSatisfy { $0.provider == acme && $0.formerProviders == [self.before] })

            replica.engine.apply(self.house.kills.change { self.killProviderBefore(&$0) })

            #expect(replica.events.last == .dropped(alice))
            #expect(await replica.ask().value == .error(.killed))
        }
    }

    @Test func `given an import after an adoption, a kill of the former provider does not affect the new tokens`()
        async throws
    {
        try await self.house.put(.valid().with { $0.binding.provider = self.before })
        self.endpoint.answer(.success(.sample(5)))
        try await self.house.withReplica(self.endpoint) { replica in
            try await replica.engine.adopt(alice)
            try await replica.engine.importTokens(Secret("rt-4"), for: alice)
            replica.engine.apply(self.house.kills.change { self.killProviderBefore(&$0) })
            #expect(await replica.ask().value.generation == Generation(1))
            #expect(try await self.house.record()?.formerProviders == [])
        }
    }

    @Test(arguments: [false, true])
    func `I4_given a kill between a refresh's claim and commit, the new tokens are dead, even after a revival`(
        isRevived: Bool
    ) async throws {
        try await self.house.put(.expired())
        self.endpoint.hold()
        try await self.house.withReplica(self.endpoint) { replica in
            let asked = replica.ask()
            try await until("the provider to be asked") { self.endpoint.heldCount == 1 }
            self.kill(replica)
            #expect(await asked.value == .error(.killed))
            if isRevived {
                replica.engine.apply(self.house.kills.change { $0.lift(.account(alice), at: $0.last.next) })
            }
            self.endpoint.release()

            try await until("the dead tokens to be noticed") { self.house.kills.storedDeadCount == 1 }
            let record = try #require(try await self.house.record())
            let epochs = try await self.house.kills.read()
            #expect(record.tokens?.refreshToken == Secret("rt-1"))
            #expect(record.observedEpoch == Epoch(7))
            #expect(epochs.verdict(on: record, of: alice, at: acme) == (isRevived ? .dead : .killed))
            #expect(await replica.ask().value == .error(isRevived ? .accountEmpty : .killed))
        }
    }
}
