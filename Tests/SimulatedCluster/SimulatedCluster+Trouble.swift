internal import KillSwitch
internal import Simulation
internal import TestKit
internal import TokenModel
internal import TokenStorage

/// What breaks: processes, the network, the store, clocks.
extension SimulatedCluster {
    private enum Trouble { case stop, death, restart, cut, failover, wallJump }

    /// Makes trouble until the foul time is over, and then mends everything.
    func makeTrouble() async {
        let end = self.simulation.now.advanced(by: Self.foul)
        while self.simulation.now < end, !self.hasEnded {
            await self.network.pause(self.network.way(upTo: .seconds(6)))
            guard let trouble = self.draw(), self.simulation.now < end else { continue }
            await self.make(trouble)
        }
        self.chance.hasFaults = false
        for replica in self.replicas {
            replica.process.resume()
            for connection in replica.connections { connection.mend() }
        }
        for store in self.stores { store.landLateWrites() }
        self.ledger.note("weather", "is fair from now on")
    }

    private func draw() -> Trouble? {
        let weights: [(Trouble, Double)] = [
            (.stop, self.weather.stops), (.death, self.weather.deaths), (.restart, self.weather.restarts),
            (.cut, self.weather.cuts), (.failover, self.weather.failovers), (.wallJump, self.weather.wallJumps),
        ]
        // A calm kind of weather has seldom trouble at all.
        var point = self.chance.fraction * max(weights.reduce(0) { $0 + $1.1 }, 1)
        for (trouble, weight) in weights {
            point -= weight
            if point < 0 { return trouble }
        }
        return nil
    }

    private func make(_ trouble: Trouble) async {
        let living = self.replicas
        guard !living.isEmpty else { return }
        let replica = living[self.chance.number(below: living.count)]
        switch trouble {
        case .stop: self.stop(replica)
        case .death: self.killAndReplace(replica)
        case .restart:
            guard replica.parts != nil else { return }
            self.ledger.note(replica.name, "is shut down")
            replica.process.start { await replica.shutDown() }
        case .cut:
            guard replica.connections.allSatisfy(\.isWhole) else { return }
            let pause = self.network.way(upTo: .seconds(30))
            let isIsolated = self.chance.happens(0.5)
            self.ledger.note(
                replica.name,
                "is cut off \(isIsolated ? "with a former primary" : "the store") for \(pause)"
            )
            for connection in replica.connections { if isIsolated { connection.isolate() } else { connection.cut() } }
            self.later(pause) { for connection in replica.connections { connection.mend() } }
        case .failover:
            await self.failOver(of: self.chance.number(below: 2))
        case .wallJump:
            let jump = [Duration.seconds(-3_600), .seconds(3_600), .seconds(40)][self.chance.number(below: 3)]
            self.ledger.note(replica.name, "has its wall clock set by \(jump)")
            replica.host.clock.jumpWall(by: jump)
        }
    }

    private func stop(_ replica: SimulatedReplica) {
        guard !replica.process.isStopped else { return }
        let pause = [Duration.milliseconds(500), .seconds(3), .seconds(30), .seconds(60)][self.chance.number(below: 4)]
        self.ledger.note(replica.name, "is stopped for \(pause)")
        self.ledger.add(.stops)
        replica.process.stop()
        self.later(pause) {
            replica.process.resume()
            self.ledger.note(replica.name, "runs on")
        }
    }

    private func killAndReplace(_ replica: SimulatedReplica) {
        self.ledger.note(replica.name, "is killed by kill -9")
        self.ledger.add(.deaths)
        self.replace(replica)
    }

    /// Stops or kills a process between two of its steps, in a weather that does so at all.
    ///
    /// - Parameter rate: how often, in the worst weather.
    func strike(_ process: SimulatedProcess, _ rate: Double) {
        guard self.chance.hasFaults, self.weather.stops + self.weather.deaths > 0, !process.hasEnded else { return }
        let (stops, dies) = (rate * self.weather.stops, rate * self.weather.deaths)
        let point = self.chance.fraction
        guard point < stops + dies, let replica = self.replicas.first(where: { $0.process === process }) else { return }
        if point < stops { self.stop(replica) } else { self.killAndReplace(replica) }
    }

    /// Does something after a while, whatever else goes on.
    func later(_ pause: Duration, _ body: @escaping @Sendable () -> Void) {
        Task(executorPreference: self.simulation) {
            await self.network.pause(pause)
            body()
        }
    }

    /// Lets a failover come that loses what was just written, unless that is replicated by then.
    func failOverSoon() {
        Task(executorPreference: self.simulation) {
            await self.network.pause(self.network.way(upTo: .seconds(4)))
            if self.chance.hasFaults { await self.failOver(of: 0, losesAll: true) }
        }
    }

    /// Another server takes over. It lacks the last writes, where the store is one that loses any.
    ///
    /// - Parameter losesAll: it has only what was replicated.
    private func failOver(of index: Int, losesAll: Bool = false) async {
        self.ledger.add(.failovers)
        let loses = self.weather.store == .redis
        let known = await self.logs()
        let before = self.accounts.map { ($0, self.record(of: $0)) }
        let store = self.stores[index]
        let count = loses ? min(losesAll ? .max : 1 + self.chance.number(below: 8), self.unreplicated(index)) : 0
        store.lose(count)
        if count > 0 { self.ledger.add(.losses) }
        self.ledger.note("store \(index)", "fails over, and loses \(count) writes")
        // Before anything of it is excused.
        self.provider.noteLosses(stored: Set(before.compactMap { $0.1?.tokens?.refreshToken?.text }))
        for (account, record) in before {
            guard let record, record.claim != nil, self.record(of: account)?.claim != record.claim,
                let token = record.tokens?.refreshToken
            else { continue }
            self.provider.unclaim(token.text)
        }
        for (account, record) in before {
            guard let token = record?.tokens?.refreshToken?.text,
                self.record(of: account)?.tokens?.refreshToken?.text != token
            else { continue }
            self.watchKeepers(of: token, account)
            if self.record(of: account) == nil { self.watchUsers(of: account) }
        }
        if count > 0 { await self.noteLostCommits(of: known) }
        store.announceReconnect(toAnotherServer: true)
    }

    /// A failover has lost a refresh token that a journal has. The process puts it back within the rest that all others keep,
    /// unless it is held up just then: others may then send the token before.
    private func watchKeepers(of refreshToken: String, _ account: AccountID) {
        Task(executorPreference: self.simulation) {
            for _ in 0..<6 where self.record(of: account)?.tokens?.refreshToken?.text != refreshToken {
                let isKeptHere = self.replicas.contains { replica in
                    replica.parts != nil && !replica.process.isStopped && replica.connections.allSatisfy(\.isWhole)
                        && replica.host.keeps(refreshToken, of: replica.incarnation)
                }
                guard isKeptHere else { return self.provider.unclaim(refreshToken) }
                await self.network.pause(.seconds(1))
            }
        }
    }

    /// A failover has lost all records of an account. A replica that has used it knows one and puts it back, unless it is held
    /// up.
    private func watchUsers(of account: AccountID) {
        Task(executorPreference: self.simulation) {
            var users = self.replicas.filter { $0.proxy.hasUsed(account) }
            for _ in 0..<30 where self.record(of: account) == nil {
                users = users.filter { user in
                    user.parts != nil && !user.process.isStopped && user.connections.allSatisfy(\.isWhole)
                }
                guard !users.isEmpty else { return }
                await self.network.pause(.seconds(1))
            }
            guard self.record(of: account) == nil else { return }
            self.ledger.violate("I2", "\(users[0].name) has used \(account), which a failover has lost for good")
        }
    }

    private func noteLostCommits(of former: [KillLogContents]) async {
        let names = Dictionary(self.replicas.map { ($0.incarnation, $0.name) }) { first, _ in first }
        var listed: Set<String> = []
        for records in self.countingStores.map(self.records) {
            guard let list = try? await ReplicaVault(records).list() else {
                return self.ledger.violate("the simulation", "a store can't be read")
            }
            listed.formUnion(list.entries.compactMap { names[$0.record.incarnation] })
        }
        let logs = await self.logs(waits: false)
        self.ledger.lost(
            except: { id in logs.contains { $0.contains(id) } || !former.contains { $0.contains(id) } },
            of: self.replicas.map(\.name),
            listed: listed,
            until: self.simulation.now.advanced(by: SimulatedReplica.lease * 1.25)
        )
    }
}
