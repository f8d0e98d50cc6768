internal import Audit
internal import KillSwitch
internal import Simulation
internal import Synchronization
internal import TestKit
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// What must hold at the end of a run.
extension SimulatedCluster {
    /// Whether the run is over.
    var hasEnded: Bool { self.end.value || !self.ledger.violations.isEmpty }

    /// Waits for the end of all faults, and for the replicas to get over them, and looks at what they have left.
    func judge() async {
        defer { self.end.value = true }
        await self.pass(Self.foul + Self.fair)
        guard !self.hasEnded else { return }
        self.callersRest.value = true
        await self.checkReplicas()
        await self.checkWaiters()
        await self.checkGrants()
        await self.checkKills()
        await self.checkFences()
        await self.checkIndexes()
        await self.checkAuditLog()
        guard !self.hasEnded else { return }
        await self.restoreAll()
        await self.checkAccounts()
        await self.checkMirror()
    }

    /// Waits, unless something has gone wrong.
    private func pass(_ duration: Duration) async {
        let end = self.simulation.now.advanced(by: duration)
        while self.simulation.now < end, !self.hasEnded { await self.network.pause(.seconds(1)) }
    }

    /// Waits until `fault` finds nothing, and says what it finds after that time.
    private func expect(_ rule: String, within limit: Duration = .seconds(60), _ fault: () async -> String?) async {
        let end = self.simulation.now.advanced(by: limit)
        while let found = await fault() {
            guard self.simulation.now < end else { return self.ledger.violate(rule, found) }
            await self.network.pause(.seconds(1))
        }
    }

    /// All replicas serve.
    private func checkReplicas() async {
        await self.expect("the end") {
            let serving = self.replicas.filter { $0.parts != nil }.map(\.name)
            return serving.count == Self.replicaCount ? nil : "only these replicas serve: \(serving)"
        }
    }

    /// I14: every caller has been answered.
    private func checkWaiters() async {
        await self.expect("I14") {
            self.replicas.first { $0.proxy.openRequests > 0 }.map {
                "\($0.proxy.openRequests) callers wait at \($0.name) for ever"
            }
        }
    }

    /// I2: what the store has is what the provider honours, once no refresh is under way.
    private func checkGrants() async {
        let epochs = await self.logs().map { FencedLog().fencing(by: $0) }
        for account in self.accounts {
            await self.expect("I2", within: ProviderConnection.answerLimit * 2) {
                self.replacedToken(of: account).map {
                    "the store has \($0) of \(account), and the provider has replaced it"
                }
            }
            guard let record = self.record(of: account), let token = record.tokens?.refreshToken?.text else { continue }
            switch self.provider.standing(of: token) {
            case .live where record.failureRecord?.dead == true:
                self.ledger.violate("I12", "\(token) of \(account) lives, and was declared dead")
            case .unknown:
                self.ledger.violate("I2", "the store has \(token) of \(account), which nobody has issued")
            case .revoked
            where self.ledger.count(.losses) == 0
                && epochs.contains { $0.verdict(on: record, of: account, at: ProviderConnection.id) == .live }:
                self.ledger.violate("I2", "\(token) of \(account) was revoked, and stands in the store")
            case .live, .replaced, .dead, .revoked, .excused: break
            }
        }
    }

    private func replacedToken(of account: AccountID) -> String? {
        guard let token = self.record(of: account)?.tokens?.refreshToken?.text else { return nil }
        return self.provider.standing(of: token) == .replaced ? token : nil
    }

    /// Every kill that was accepted is complete, since all replicas run and the store takes everything. One that a
    /// failover has lost may be gone, if whoever knew it has ended.
    private func checkKills() async {
        let logs = await self.logs()
        for kill in self.ledger.standing where !kill.isComplete {
            let stands = logs.contains { $0.contains(kill.id) }
            if stands || self.ledger.count(.losses) == 0 {
                self.ledger.violate("I4", "the kill \(kill.id) of \(kill.scope.text) is never complete")
            }
        }
        let running = Set(self.replicas.filter { $0.parts != nil }.map(\.name))
        for kill in self.ledger.lost
        where running.contains(kill.replica) && !logs.contains(where: { $0.contains(kill.id) }) {
            self.ledger.violate("I4", "\(kill.replica) knows the kill \(kill.id) of \(kill.scope.text), which is lost")
        }
    }

    /// The kill log of each store.
    ///
    /// - Parameter waits: for what a failover has lost of a snapshot, until the replicas have put it back. Otherwise such a
    ///   log is left out.
    func logs(waits: Bool = true) async -> [KillLogContents] {
        var logs: [KillLogContents] = []
        for (index, records) in self.countingStores.map(self.records).enumerated() {
            let end = self.simulation.now.advanced(by: .seconds(waits ? 90 : 0))
            while true {
                do throws(StoreError) {
                    logs.append(try await KillLog(records).contents())
                    break
                } catch {
                    // The target of a move that is not committed may have lost a part of what is copied.
                    if index > 0, case .prepared? = try? await StorePlace.read(records)?.stage { break }
                    guard waits else { break }
                    guard self.simulation.now < end else {
                        self.ledger.violate("the simulation", "store \(index) can't be read: \(error.message)")
                        break
                    }
                    await self.network.pause(.seconds(1))
                }
            }
        }
        return logs
    }

    /// I6: all replicas are fenced by the log of the store, and by the same one.
    private func checkFences() async {
        await self.expect("I6") {
            let logged = await self.logs().map { FencedLog().fencing(by: $0) }
            let fences = self.replicas.compactMap { replica in
                replica.parts.map { (name: replica.name, epochs: $0.kills.epochs) }
            }
            func isSame(_ one: KillEpochs, _ other: KillEpochs) -> Bool {
                one.last == other.last && one.killed == other.killed
            }
            let astray = fences.first { fence in !logged.contains { isSame($0, fence.epochs) } }
            if let astray { return "\(astray.name) is fenced by other kills than those of the log" }
            let other = fences.first { !isSame($0.epochs, fences[0].epochs) }
            return other.map { "\($0.name) is fenced by another log than \(fences[0].name)" }
        }
    }

    /// Invariant I4 of a move: nobody writes into the second store while a replica may use the first. A failover may have
    /// lost what the others have waited for.
    func expectNobodyStays(because mover: String) {
        guard self.ledger.count(.losses) == 0 else { return }
        let staying = self.replicas.first { replica in
            replica.proxy.hasLease && replica.parts?.move.map { $0.phase != .after } ?? false
        }
        guard let staying else { return }
        self.ledger.violate("I4", "\(mover) uses the second store while \(staying.name) has a lease in the first")
    }

    /// Every replica knows the members of the family that exist, where no hint was lost and no read was stale.
    private func checkIndexes() async {
        let weather = self.weather
        guard weather.hintIsLost + weather.isStale + weather.cuts + weather.failovers == 0, !weather.moves else {
            return
        }
        await self.expect("the index") {
            // An import that was said to have failed may have made a member.
            let existing = self.members.count { self.record(of: $0)?.isRemoved == false }
            for replica in self.replicas {
                guard let engine = replica.parts?.engine else { continue }
                let known = await engine.overview().families.first?.accounts ?? 0
                if known != existing { return "\(replica.name) knows \(known) members, and \(existing) exist" }
            }
            return nil
        }
    }

    /// The audit log is one chain, in which each acknowledged entry stands once, where the store loses none.
    private func checkAuditLog() async {
        var (chain, found): (AuditChain, [String: [UInt64]]) = (AuditChain(), [:])
        for records in self.countingStores.map(self.records) {
            guard let items = try? await AuditLog(records).items(after: 0, limit: 10_000) else {
                return self.ledger.violate("I20", "the audit log can't be read")
            }
            guard !items.isEmpty else { continue }
            chain = AuditChain()
            for item in items {
                chain.take(item)
                guard case .record(let record) = item, record.action == "reload" else { continue }
                found[record.reason ?? "", default: []].append(record.number)
            }
        }
        guard self.ledger.count(.losses) == 0, !self.weather.moves else { return }
        if let fault = chain.firstFault { self.ledger.violate("I20", "the chain of the audit log breaks: \(fault)") }
        for (reason, number) in self.ledger.auditedEntries.sorted(by: { $0.key < $1.key })
        where found[reason] != [number] {
            self.ledger.violate("I20", "entry \(reason) was said to be \(number) and stands at \(found[reason] ?? [])")
        }
    }

    /// Revives what is killed, and signs in to what has no living grant.
    private func restoreAll() async {
        guard let (replica, parts) = self.someReplica else {
            return self.ledger.violate("the end", "no replica serves")
        }
        let work = replica.process.start {
            for scope in parts.kills.epochs.killed.sorted(by: { $0.text < $1.text }) {
                _ = try? await parts.kills.revive(scope, reason: "the end")
            }
            let epochs = parts.kills.epochs
            for account in self.accounts {
                let record = self.record(of: account)
                let isLive = epochs.verdict(on: record, of: account, at: ProviderConnection.id) == .live
                let token = record?.tokens?.refreshToken?.text
                if isLive, let token, self.provider.standing(of: token) == .live { continue }
                // A sign-in that a process has left behind is in the way of the next one for a while.
                if await self.signIn(account, at: replica, parts) { continue }
                if await self.importTokens(of: account, at: replica, parts) { continue }
                self.ledger.violate("the end", "\(account) gets no tokens")
            }
        }
        await work.value
    }

    /// The mirror has what the store has. After a death, a failover or a stale read it may lack something until the
    /// comparison that each replica makes every five minutes.
    private func checkMirror() async {
        guard self.weather.mirrors, !self.hasEnded else { return }
        let weather = self.weather
        let mayLack = weather.isStale + weather.cuts + weather.failovers + weather.deaths > 0
        await self.expect("the mirror", within: mayLack ? .seconds(330) : .seconds(10)) {
            let (store, mirror) = (self.stores[0].history, self.stores[1].history)
            let astray = store.keys().union(mirror.keys()).sorted().first { key in
                !key.staysInItsStore && store.record(key) != mirror.record(key)
            }
            return astray.map { key in
                let versions = [store, mirror].map { $0.record(key).map { "\($0.version)" } ?? "nothing" }
                let states = self.replicas.map { replica in
                    replica.parts?.mirroring?.states.map { "\(replica.name): \($0.phase)" } ?? []
                }
                return "it has \(versions[1]) at \(key), the store \(versions[0]); \(states.joined())"
            }
        }
    }

    /// Every account can be used, at every replica.
    private func checkAccounts() async {
        for replica in self.replicas {
            // Of a member that was imported elsewhere only a hint tells a replica soon.
            let accounts = self.weather.hintIsLost > 0 ? self.firstAccounts : self.accounts
            for account in accounts where self.ledger.violations.isEmpty {
                let end = self.simulation.now.advanced(by: .seconds(90))
                let outcome = Answer(SimulatedProxy.Outcome.noLease)
                repeat {
                    await replica.process.start { outcome.value = await replica.proxy.request(account) }.value
                    if outcome.value != .sent { await self.network.pause(.seconds(1)) }
                } while outcome.value != .sent && self.simulation.now < end
                if outcome.value != .sent {
                    self.ledger.violate("the end", "\(account) can't be used at \(replica.name): \(outcome.value)")
                }
            }
        }
    }
}

/// What a task of a process has brought.
final class Answer<Value: Sendable>: Sendable {
    private let kept: Mutex<Value>

    init(_ value: Value) { self.kept = Mutex(value) }

    var value: Value {
        get { self.kept.withLock { $0 } }
        set { self.kept.withLock { $0 = newValue } }
    }
}
