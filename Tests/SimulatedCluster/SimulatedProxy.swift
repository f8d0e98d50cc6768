internal import KillSwitch
internal import Simulation
internal import Synchronization
internal import TestKit
internal import TokenModel
internal import TokenRefresh

/// The event loops of one replica: they put tokens into requests, while the replica has a lease, and obey kills.
final class SimulatedProxy: KillFence {
    private struct State {
        var epochs = KillEpochs()
        var leaseUntil = BootInstant.distantPast
        /// When others could last see that the replica lives.
        var heartbeatAt = BootInstant.distantPast
        var credentials: [AccountID: UpstreamCredential] = [:]
        var isLocked = false
        var engine: RefreshEngine?
        /// The accounts whose tokens have been sent.
        var used: Set<AccountID> = []
        /// The requests that have no answer yet.
        var open = 0
    }

    /// What came of a request.
    enum Outcome: Equatable {
        case sent
        case noLease
        case failed(CredentialError.Code)
    }

    private let name: String
    private let process: SimulatedProcess
    private let timepiece: Timepiece
    private let cluster: SimulatedCluster
    private let state = Mutex(State())

    init(named name: String, _ process: SimulatedProcess, _ timepiece: Timepiece, in cluster: SimulatedCluster) {
        self.name = name
        self.process = process
        self.timepiece = timepiece
        self.cluster = cluster
    }

    private var ledger: Ledger { self.cluster.ledger }

    /// From now on requests are served with the engine's credentials.
    func open(_ engine: RefreshEngine) { self.state.withLock { $0.engine = engine } }

    /// The replica ends, and serves no request any more.
    func close() { self.state.withLock { ($0.engine, $0.credentials) = (nil, [:]) } }

    var hasLease: Bool { self.state.withLock { $0.leaseUntil > self.timepiece.now.boot } }

    /// Whether the replica has sent a token of the account.
    func hasUsed(_ account: AccountID) -> Bool { self.state.withLock { $0.used.contains(account) } }

    var openRequests: Int { self.state.withLock { $0.open } }

    // MARK: - Requests

    /// Sends a request of a caller, with the token that the loop has, or with one that it waits for.
    func request(_ account: AccountID) async -> Outcome {
        self.state.withLock { $0.open += 1 }
        defer { self.state.withLock { $0.open -= 1 } }
        guard let engine = self.state.withLock({ $0.engine }), self.hasLease else { return .noLease }
        if let credential = self.state.withLock({ self.usable($0.credentials[account], $0) }) {
            return await self.send(credential, with: engine)
        }
        return await self.ask(engine, account, refused: nil)
    }

    private func ask(_ engine: RefreshEngine, _ account: AccountID, refused: Generation?) async -> Outcome {
        let wasUsed = self.hasUsed(account)
        do throws(CredentialError) {
            let credential = try await engine.credential(for: account, refused: refused)
            guard let credential = self.state.withLock({ self.usable(credential, $0) }) else {
                return self.hasLease ? .failed(.killed) : .noLease
            }
            return await self.send(credential, with: engine, isSecond: refused != nil)
        } catch {
            if error.code == .accountEmpty, wasUsed, !error.wasEmptied {
                self.ledger.violate("I2", "\(self.name) has sent a token of \(account), and says that it never had any")
            }
            return .failed(error.code)
        }
    }

    /// The check that comes right before a token is written.
    private func usable(_ credential: UpstreamCredential?, _ state: State) -> UpstreamCredential? {
        let now = self.timepiece.now.boot
        guard let credential, now < state.leaseUntil, !state.isLocked, now < credential.usableUntil,
            state.epochs.verdict(on: credential) == .live
        else { return nil }
        return credential
    }

    private func send(
        _ credential: UpstreamCredential,
        with engine: RefreshEngine,
        isSecond: Bool = false
    ) async -> Outcome {
        guard !self.process.hasEnded else { return .noLease }
        let text = credential.accessToken.text
        guard let token = self.cluster.provider.accessToken(text) else {
            self.ledger.violate("I7", "\(self.name) sends \(text), which nobody has issued")
            return .sent
        }
        if token.account != credential.account {
            self.ledger.violate("I7", "\(self.name) sends \(text) for \(credential.account)")
        }
        if !self.cluster.isDurable(token) {
            self.ledger.violate("I13", "\(self.name) sends \(text), which is in no store and in no journal")
        }
        self.ledger.sent(token, by: self.name)
        self.state.withLock { _ = $0.used.insert(token.account) }
        let (provider, network) = (self.cluster.provider, self.cluster.network)
        let isAccepted = await network.call(
            there: .zero,
            back: network.way(),
            within: .seconds(8),
            otherwise: true
        ) { provider.accepts(text) }
        if isAccepted {
            engine.accepted(credential.generation, for: credential.account)
            return .sent
        }
        return isSecond
            ? .failed(.reauthorizationRequired)
            : await self.ask(engine, credential.account, refused: credential.generation)
    }

    /// Takes what the engine announces.
    func apply(_ event: CredentialEvent) {
        self.state.withLock { state in
            switch event {
            case .installed(let credential): state.credentials[credential.account] = credential
            case .lapsed(let account), .dropped(let account), .retired(let account): state.credentials[account] = nil
            case .approved: break
            }
        }
    }

    // MARK: - KillFence

    func fence(_ epochs: KillEpochs) async -> Int {
        // The loops take it one after the other.
        let (chance, network) = (self.cluster.chance, self.cluster.network)
        let areSlow = chance.hasFaults && chance.happens(self.cluster.weather.loopsAreSlow)
        let time = network.way(upTo: areSlow ? .seconds(3) : .milliseconds(20))
        await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: time))
        let engine = self.state.withLock { state in
            state.epochs = epochs
            return state.engine
        }
        engine?.apply(epochs)
        return 0
    }

    func locked(_ entry: KillEntry) async { self.state.withLock { $0.isLocked = true } }

    func replaced(_ account: AccountID) async { await self.state.withLock({ $0.engine })?.reread(account) }

    func setLeaseDeadline(_ instant: BootInstant) {
        let heartbeatAt = self.state.withLock { state in
            state.leaseUntil = instant
            return state.heartbeatAt
        }
        // Others count from when they see the heartbeat.
        if self.cluster.weather.store != .sqlite, self.cluster.mutation != .leaseByReading,
            instant > heartbeatAt.advanced(by: SimulatedReplica.lease)
        {
            self.ledger.violate("I6", "\(self.name) takes a lease that is longer than the others wait for it")
        }
    }

    func heartbeatLanded() {
        let now = self.timepiece.now.boot
        self.state.withLock { $0.heartbeatAt = now }
    }
}
