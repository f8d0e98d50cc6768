import KillSwitch
import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Tokens that were issued for an account and never came into its record, such as those of a sign-in that failed.
@Suite(.simulated) struct DroppedTokensTests {
    private let house = ReplicaGroup()
    private let alice = AccountID("alice")

    private func record(observedEpoch: Epoch = .start) -> AccountRecord {
        AccountRecord(
            grant: .random(),
            generation: .none,
            tokens: TokenSet(
                accessToken: Secret("at-dropped"),
                refreshToken: Secret("rt-dropped"),
                receivedAt: self.house.clock.wall,
                lifetime: .seconds(3_600)
            ),
            observedEpoch: observedEpoch,
            binding: AccountRecord.Binding(
                provider: ProviderID("acme"),
                issuer: .tokenEndpoint("https://login.example/token"),
                clientID: "my-app"
            )
        )
    }

    @Test func `dropped tokens are revoked although they were not killed, and the stored ones stay`() async throws {
        let one = self.house.replica("a")
        try await self.house.put("alice")
        try await self.house.run([one]) {
            // Given a kill of something else
            let kill = try await one.kill(.account(AccountID("bob")))

            // When tokens are dropped, both are revoked
            try await one.kills.storeForRevocation(dropped: self.record(), self.alice)
            try await until("both to be revoked") {
                try await one.kills.tokensToRevoke(of: self.alice).isEmpty
            }

            // Then nothing else is, and they count for no kill
            #expect(self.house.provider.asked.sorted() == ["at-dropped", "rt-dropped"])
            #expect(try await self.house.vault.read(self.alice)?.record.tokens != nil)
            #expect(try await one.kills.report(on: kill.id).tokens.total == 0)
        }
    }

    @Test func `dropped tokens count for the kill that covers them, and for no other`() async throws {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            let before = try await one.kill(.account(self.alice))
            try await one.kills.revive(.account(self.alice), reason: "over")
            // Issued after that, and killed by the next one.
            let dropped = self.record(observedEpoch: one.kills.epochs.last)
            let kill = try await one.kill(.all)

            try await one.kills.storeForRevocation(dropped: dropped, self.alice)

            try await until("both to be revoked") {
                try await one.kills.report(on: kill.id).tokens.revoked == 2
            }
            #expect(try await one.kills.report(on: before.id).tokens.total == 0)
        }
    }

    @Test func `dropped tokens that are recorded twice are asked about once`() async throws {
        let one = self.house.replica("a")
        self.house.provider.answer(.unreachable(.connectFailed))
        try await self.house.run([one]) {
            let dropped = self.record()
            for _ in 1...2 { try await one.kills.storeForRevocation(dropped: dropped, self.alice) }

            try await until("both to be tried") { Set(self.house.provider.asked).count == 2 }
            #expect(try await one.kills.tokensToRevoke(of: self.alice).map(\.kind) == [.refreshToken, .accessToken])

            self.house.provider.answer(.revoked)
            try await until("both to be revoked", within: .seconds(2)) {
                try await one.kills.tokensToRevoke(of: self.alice).isEmpty
            }
        }
    }

    @Test func `tokens that are alive are not recorded as those of a record that is overwritten`() async throws {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            try await one.kills.storeForRevocation(tokensOf: self.record(), self.alice)
            #expect(try await one.kills.tokensToRevoke(of: self.alice).isEmpty)
        }
        #expect(self.house.provider.asked.isEmpty)
    }

    @Test func `a store that is away says that nothing was recorded`() async throws {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            self.house.store.fail(.away, [.write], under: .revocations)
            await #expect(throws: StoreError(.unreachable, "")) {
                try await one.kills.storeForRevocation(dropped: self.record(), self.alice)
            }
            self.house.store.recover()
        }
        #expect(self.house.provider.asked.isEmpty)
    }
}
