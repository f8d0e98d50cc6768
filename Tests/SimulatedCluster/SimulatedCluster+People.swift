internal import Audit
internal import KillSwitch
internal import SignIn
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

    /// Sends requests for an account, to any replica, until the run ends, once it has a grant.
    func call(_ account: AccountID) async {
        while !self.hasEnded, !self.callersRest.value {
            await self.network.pause(self.network.way(upTo: .seconds(2)))
            // Nobody knows yet of a process that is stopped: it finds its requests when it runs on.
            let serving = self.replicas.filter { $0.parts != nil }
            guard !serving.isEmpty, self.accounts.contains(account) else { continue }
            let replica = serving[self.chance.number(below: serving.count)]
            // A caller may go away before it has an answer; the process then runs on.
            replica.process.start { _ = await replica.proxy.request(account) }
        }
    }

    /// Kills, revives, imports, locks and moves now and then, while there are faults.
    func operate() async {
        let end = self.simulation.now.advanced(by: Self.foul)
        await withDiscardingTaskGroup { orders in
            while self.simulation.now < end, !self.hasEnded {
                await self.network.pause(self.network.way(upTo: .seconds(15)))
                guard self.simulation.now < end, let (replica, parts) = self.someReplica else { continue }
                if self.chance.happens(0.1) { await self.lock(at: replica, parts) }
                if self.weather.moves, self.chance.happens(0.3) { self.roll() }
                let scope = self.drawScope()
                let (pause, again) = (self.network.way(upTo: .seconds(10)), self.chance.happens(0.3))
                replica.process.start {
                    await self.kill(scope, at: replica, parts)
                    if again { await self.kill(scope, at: replica, parts) }
                }
                orders.addTask {
                    await self.network.pause(pause)
                    await self.restore(scope)
                }
            }
        }
        if self.weather.moves { self.roll() }
    }

    /// Signs in to further members of the family.
    func welcomeMembers() async {
        for account in self.members[3...] {
            let isDone = Answer(false)
            while !isDone.value, !self.hasEnded {
                await self.network.pause(self.network.way(upTo: .seconds(20)))
                guard let (replica, parts) = self.someReplica else { continue }
                await replica.process.start { isDone.value = await self.signIn(account, at: replica, parts) }.value
            }
            self.welcomed(account)
            if self.chance.happens(min(self.weather.failovers, 0.5)) { self.failOverSoon() }
        }
    }

    /// Restarts a replica that is not configured for the move yet.
    private func roll() {
        self.beginMove()
        self.ledger.note("operator", "has all who start from now on move to the second store")
        for (index, replica) in self.replicas.enumerated() {
            self.later(self.network.way(upTo: .seconds(10)) + .seconds(index * 5)) {
                replica.process.start { await replica.shutDown() }
            }
        }
    }

    /// Locks all replicas. Each that is started anew is unlocked.
    private func lock(at replica: SimulatedReplica, _ parts: SimulatedReplica.Open) async {
        self.ledger.note(replica.name, "is told to lock all replicas")
        replica.process.start { _ = try? await parts.kills.orderLock(reason: "drill", wait: .seconds(5)) }
    }

    private func drawScope() -> KillScope {
        if self.chance.happens(0.15) { return .all }
        if self.chance.happens(0.15) { return .provider(ProviderConnection.id) }
        return .account(self.accounts[self.chance.number(below: self.accounts.count)])
    }

    private func kill(_ scope: KillScope, at replica: SimulatedReplica, _ parts: SimulatedReplica.Open) async {
        let orderedAt = self.simulation.now
        self.ledger.note(replica.name, "is told to kill \(scope.text)")
        do throws(KillSwitchError) {
            let streams: KillStreams = self.chance.happens(0.5) ? .abort : .drain
            let report = try await parts.kills.kill(scope, reason: "drill", streams: streams, wait: .seconds(5))
            guard !replica.process.hasEnded else { return }
            self.ledger.ordered(report.id, scope, at: orderedAt, by: replica.name)
            self.ledger.note(replica.name, "says that kill \(report.id) is \(report.state.rawValue)")
            if report.state == .complete { self.ledger.complete(report.id) }
        } catch {
            self.ledger.note(replica.name, "refuses the kill: \(error.code.rawValue)")
        }
    }

    /// Allows tokens of the scope again, and signs in to its accounts anew. Tried again for a while, at any replica.
    private func restore(_ scope: KillScope) async {
        for _ in 0..<5 where !self.hasEnded {
            if let (replica, parts) = self.someReplica {
                let isDone = Answer(false)
                await replica.process.start { isDone.value = await self.restore(scope, at: replica, parts) }.value
                if isDone.value { return }
            }
            await self.network.pause(.seconds(2))
        }
    }

    private func restore(
        _ scope: KillScope,
        at replica: SimulatedReplica,
        _ parts: SimulatedReplica.Open
    ) async -> Bool {
        do throws(KillSwitchError) {
            try await parts.kills.revive(scope, reason: "drill")
            self.ledger.revived(scope)
            self.ledger.note(replica.name, "has revived \(scope.text)")
        } catch {
            self.ledger.note(replica.name, "does not revive \(scope.text): \(error.code.rawValue)")
            guard error.code == .notKilled else { return false }
        }
        for account in self.accounts where scope.covers(account) {
            await self.signIn(account, at: replica, parts)
        }
        return true
    }

    /// Gives the account a new grant: by an import, or by a sign-in that any replica completes.
    ///
    /// - Returns: whether the replica says that it has it.
    @discardableResult
    func signIn(_ account: AccountID, at replica: SimulatedReplica, _ parts: SimulatedReplica.Open) async -> Bool {
        guard self.chance.happens(0.5) else { return await self.importTokens(of: account, at: replica, parts) }
        do throws(SignInError) {
            let begun = try await parts.signIns.begin(account, .paste, by: .admin("anne", at: "10.0.0.1"))
            // A kill that was ordered while it began may not cover it.
            let begunAt = self.simulation.now
            let state = begun.url?.split(whereSeparator: { "?&".contains($0) }).first { $0.hasPrefix("state=") } ?? ""
            let code = self.provider.agree(account, begunAt: begunAt)
            await self.network.pause(self.network.way(upTo: .seconds(4)))
            let address = Secret("http://127.0.0.1/callback?code=\(code)&\(state)")
            let report = try await parts.signIns.answer(begun.id, with: address)
            self.ledger.note(replica.name, "says that the sign-in of \(account) is \(report.state.rawValue)")
            if report.state == .done { self.ledger.add(.signedIn) }
            return report.state == .done
        } catch {
            self.ledger.note(replica.name, "can't sign in to \(account): \(error.code)")
            return false
        }
    }

    func importTokens(
        of account: AccountID,
        at replica: SimulatedReplica,
        _ parts: SimulatedReplica.Open
    ) async -> Bool {
        let token = self.provider.authorize(account)
        do throws(AccountChangeError) {
            try await parts.engine.importTokens(token, for: account)
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
            guard let (replica, parts) = self.someReplica else { continue }
            let open = self.ledger.standing.filter { !$0.isComplete }.map(\.id).sorted()
            replica.process.start {
                for id in open {
                    guard let report = try? await parts.kills.report(on: id), !replica.process.hasEnded else {
                        continue
                    }
                    if report.state == .complete { self.ledger.complete(id) }
                }
            }
        }
    }

    /// Has entries put into the audit log, each tried again until that is acknowledged or its process ends.
    func keepBooks() async {
        let end = self.simulation.now.advanced(by: Self.foul)
        var number = 0
        while self.simulation.now < end, !self.hasEnded {
            await self.network.pause(self.network.way(upTo: .seconds(5)))
            guard let (replica, parts) = self.someReplica else { continue }
            number += 1
            let entry = AuditEntry(
                .reload,
                by: .gateway("SIGHUP"),
                in: replica.name,
                incarnation: replica.incarnation,
                of: .all,
                reason: "\(number)",
                at: self.simulation.wall
            )
            replica.process.start {
                while !replica.process.hasEnded, !self.hasEnded {
                    if let record = try? await parts.audit.log.append(entry, isTriedAgain: true) {
                        if !replica.process.hasEnded { self.ledger.audited(entry.reason ?? "", at: record.number) }
                        return
                    }
                    await self.network.pause(.milliseconds(500))
                }
            }
        }
    }

    /// Restarts replicas that a failover has left with another log than the store's: they stop for good.
    func restartStrays() async {
        var lost: [ObjectIdentifier: BootInstant] = [:]
        while !self.hasEnded {
            await self.network.pause(.seconds(5))
            guard self.weather.store == .redis, self.ledger.count(.failovers) > 0 else { continue }
            let now = self.simulation.now
            let strays = self.replicas.filter { $0.parts != nil && !$0.process.isStopped && !$0.proxy.hasLease }
            lost = lost.filter { entry in strays.contains { ObjectIdentifier($0) == entry.key } }
            for replica in strays {
                let since = lost[ObjectIdentifier(replica)] ?? now
                lost[ObjectIdentifier(replica)] = since
                guard since.duration(to: now) > .seconds(30) else { continue }
                self.ledger.note("operator", "restarts \(replica.name), which has no lease")
                self.replace(replica)
            }
        }
    }
}
