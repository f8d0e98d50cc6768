internal import KillSwitch
internal import Simulation
internal import TestKit
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// Callers and an operator.
extension SimulatedCluster {
    /// Somebody has signed in to the account before the run.
    func sow(_ account: AccountID) async throws {
        let record = AccountRecord(
            grant: .random(),
            generation: .none,
            tokens: TokenSet(
                accessToken: nil,
                refreshToken: self.provider.authorize(account),
                receivedAt: self.simulation.wall,
                lifetime: .zero
            ),
            observedEpoch: .start,
            binding: AccountRecord.Binding(
                provider: ProviderConnection.id,
                issuer: .tokenEndpoint("https://login.example/token"),
                clientID: "my-app"
            )
        )
        _ = try await self.vault.write(record, for: account, expecting: nil)
    }

    /// The number of commits before the run.
    var sown: Int { self.accounts.count }

    /// Sends requests for an account, to any replica, until the run ends.
    func call(_ account: AccountID) async {
        while !self.hasEnded {
            await self.network.pause(self.network.way(upTo: .seconds(2)))
            guard let replica = self.someReplica else { continue }
            // A caller may go away before it has an answer; the process then runs on.
            replica.process.start { _ = await replica.proxy.request(account) }
        }
    }

    /// Kills, revives and imports now and then, while there are faults.
    func operate() async {
        let end = self.simulation.now.advanced(by: Self.foul)
        while self.simulation.now < end, !self.hasEnded {
            await self.network.pause(self.network.way(upTo: .seconds(15)))
            guard self.simulation.now < end, let replica = self.someReplica else { continue }
            let scope = self.drawScope()
            let (pause, again) = (self.network.way(upTo: .seconds(10)), self.chance.happens(0.3))
            replica.process.start {
                await self.kill(scope, at: replica)
                if again { await self.kill(scope, at: replica) }
            }
            await self.network.pause(pause)
            guard let replica = self.someReplica else { continue }
            replica.process.start { await self.restore(scope, at: replica) }
        }
    }

    private func drawScope() -> KillScope {
        if self.chance.happens(0.15) { return .all }
        if self.chance.happens(0.15) { return .provider(ProviderConnection.id) }
        return .account(self.accounts[self.chance.number(below: self.accounts.count)])
    }

    private func kill(_ scope: KillScope, at replica: SimulatedReplica) async {
        let orderedAt = self.simulation.now
        self.ledger.note(replica.name, "is told to kill \(scope.text)")
        do throws(KillSwitchError) {
            let streams: KillStreams = self.chance.happens(0.5) ? .abort : .drain
            let report = try await replica.kills.kill(scope, reason: "drill", streams: streams, wait: .seconds(5))
            guard !replica.process.hasEnded else { return }
            self.ledger.ordered(report.id, scope, at: orderedAt)
            self.ledger.note(replica.name, "says that kill \(report.id) is \(report.state.rawValue)")
            if report.state == .complete { self.ledger.complete(report.id) }
        } catch {
            self.ledger.note(replica.name, "refuses the kill: \(error.code.rawValue)")
        }
    }

    /// Allows tokens of the scope again, and signs in to its accounts anew.
    func restore(_ scope: KillScope, at replica: SimulatedReplica) async {
        do throws(KillSwitchError) {
            try await replica.kills.revive(scope, reason: "drill")
            self.ledger.add(.revived)
            self.ledger.note(replica.name, "has revived \(scope.text)")
        } catch {
            self.ledger.note(replica.name, "does not revive \(scope.text): \(error.code.rawValue)")
        }
        for account in self.accounts where scope.covers(account) {
            await self.signIn(account, at: replica)
        }
    }

    @discardableResult
    func signIn(_ account: AccountID, at replica: SimulatedReplica) async -> Bool {
        let token = self.provider.authorize(account)
        do throws(AccountChangeError) {
            try await replica.engine.importTokens(token, for: account)
            self.ledger.add(.imported)
            self.ledger.note(replica.name, "has imported \(token.text)")
            return true
        } catch {
            self.ledger.note(replica.name, "does not import \(token.text): \(error.code.rawValue)")
            return false
        }
    }

    /// Asks what has become of the kills, at any replica.
    func watchKills() async {
        while !self.hasEnded {
            await self.network.pause(.seconds(3))
            guard let replica = self.someReplica else { continue }
            let open = self.ledger.standing.filter { !$0.isComplete }.map(\.id).sorted()
            replica.process.start {
                for id in open {
                    guard let report = try? await replica.kills.report(on: id), !replica.process.hasEnded else { continue }
                    if report.state == .complete { self.ledger.complete(id) }
                }
            }
        }
    }
}
