internal import OAuth
internal import ProviderClient
internal import Simulation
internal import Synchronization
internal import TokenModel

/// An authorization server that rotates refresh tokens and detects their reuse: a refresh token that was replaced ends
/// its grant (RFC 9700 §4.14.2), unless it comes within the grace.
final class SimulatedProvider: Sendable {
    struct AccessToken: Sendable {
        let text: String
        let account: AccountID
        let grant: String
        /// When the request began that it was issued for; for a first token, when somebody signed in.
        let askedAt: BootInstant
        let endsAt: BootInstant
    }

    /// What a person has allowed once.
    private struct Grant {
        let account: AccountID
        var live: String
        var former: (token: String, replacedAt: BootInstant)?
        var serial = 0
        var isDead = false
        /// A process asked for that.
        var isRevoked = false
        /// Nobody may be blamed for its end: the only copy of its token went with a lost answer, a process or a store.
        var isExcused = false
    }

    private struct State {
        var grants: [String: Grant] = [:]
        var grantOf: [String: String] = [:]
        /// Who has signed in for each code, and when that began.
        var codes: [String: (account: AccountID, begunAt: BootInstant)] = [:]
        var lastCode = 0
        var accessTokens: [String: AccessToken] = [:]
        var underWay: [ObjectIdentifier: [String]] = [:]
        /// The refresh tokens in answers that have not arrived yet, by the token that was sent for each.
        var onTheWay: [ObjectIdentifier: [String: String]] = [:]
        /// The refresh tokens that each process was answered with.
        var inHand: [ObjectIdentifier: Set<String>] = [:]
        var processes: [ObjectIdentifier: SimulatedProcess] = [:]
        /// The refresh tokens whose claim a failover has lost.
        var unclaimed: Set<String> = []
        /// The refresh tokens that a journal has had.
        var journalled: Set<String> = []
        var isKnown: @Sendable (String) -> Bool = { _ in true }
        var storedToken: @Sendable (AccountID) -> String? = { _ in nil }
    }

    private let simulation: Simulation
    private let ledger: Ledger
    private let weather: Weather
    private let state = Mutex(State())

    init(_ simulation: Simulation, _ ledger: Ledger, _ weather: Weather) {
        self.simulation = simulation
        self.ledger = ledger
        self.weather = weather
    }

    /// - Parameters:
    ///   - isKnown: whether a store or a journal has the refresh token.
    ///   - storedToken: the refresh token of an account in the store.
    func know(
        _ isKnown: @escaping @Sendable (String) -> Bool,
        storedToken: @escaping @Sendable (AccountID) -> String?
    ) {
        self.state.withLock { ($0.isKnown, $0.storedToken) = (isKnown, storedToken) }
    }

    /// A journal has the refresh token, and must not lose it before the store has it.
    func journalled(_ refreshToken: String) { self.state.withLock { _ = $0.journalled.insert(refreshToken) } }

    /// Somebody signs in, and gets a refresh token to import.
    func authorize(_ account: AccountID) -> Secret {
        let token = self.state.withLock { state in
            let name = "\(account).\(state.grants.count)"
            let token = "rt-\(name)-0"
            state.grants[name] = Grant(account: account, live: token)
            state.grantOf[token] = name
            return token
        }
        return Secret(token)
    }

    /// Somebody signs in at the address of a sign-in that began then.
    ///
    /// - Returns: the code for the answer.
    func agree(_ account: AccountID, begunAt: BootInstant) -> String {
        self.state.withLock { state in
            state.lastCode += 1
            let code = "code-\(state.lastCode)"
            state.codes[code] = (account, begunAt)
            return code
        }
    }

    /// The access token of that text; `nil` if none was issued.
    func accessToken(_ text: String) -> AccessToken? { self.state.withLock { $0.accessTokens[text] } }

    /// Whether an upstream takes the access token.
    func accepts(_ text: String) -> Bool {
        let now = self.simulation.now
        return self.state.withLock { state in
            guard let token = state.accessTokens[text] else { return false }
            return now < token.endsAt && state.grants[token.grant]?.isDead == false
        }
    }

    /// What is to be thought of a refresh token in a store.
    enum Standing { case live, replaced, dead, revoked, excused, unknown }

    func standing(of refreshToken: String) -> Standing {
        self.state.withLock { state in
            guard let name = state.grantOf[refreshToken], let grant = state.grants[name] else { return .unknown }
            if grant.isRevoked { return .revoked }
            if grant.isExcused { return .excused }
            if grant.isDead { return .dead }
            return grant.live == refreshToken ? .live : .replaced
        }
    }

    // MARK: - A token request

    /// A request leaves a process. Invariant I1: no other one with this refresh token is under way.
    func begin(_ refreshToken: String, by process: SimulatedProcess, named name: String) {
        let isSecond = self.state.withLock { state in
            let isSecond = state.underWay.values.contains { $0.contains(refreshToken) }
            state.underWay[ObjectIdentifier(process), default: []].append(refreshToken)
            state.processes[ObjectIdentifier(process)] = process
            return isSecond && !state.unclaimed.contains(refreshToken)
        }
        self.ledger.note(name, "sends \(refreshToken)")
        if isSecond { self.ledger.violate("I1", "\(name) sends \(refreshToken), which is under way already") }
    }

    /// The process has its answer, or waits for it no more.
    func end(_ refreshToken: String, by process: SimulatedProcess, named name: String, _ verdict: TokenVerdict) {
        let id = ObjectIdentifier(process)
        self.state.withLock { state in
            if let index = state.underWay[id]?.firstIndex(of: refreshToken) { state.underWay[id]?.remove(at: index) }
            state.onTheWay[id]?[refreshToken] = nil
            if case .success(let tokens) = verdict, let token = tokens.refreshToken, !process.hasEnded {
                state.inHand[id, default: []].insert(token.text)
            }
        }
        self.ledger.note(name, "gets \(verdict.name) for \(refreshToken)")
        self.noteLosses()
    }

    /// The process has ended, and its connections with it.
    func ended(_ process: SimulatedProcess) {
        self.state.withLock { state in
            state.underWay[ObjectIdentifier(process)] = nil
            state.onTheWay[ObjectIdentifier(process)] = nil
            state.inHand[ObjectIdentifier(process)] = nil
            state.processes[ObjectIdentifier(process)] = nil
        }
        self.noteLosses()
    }

    /// A failover has lost the claim under which the token may have been sent.
    func unclaim(_ refreshToken: String) {
        self.state.withLock { state in
            state.unclaimed.insert(refreshToken)
            if let name = state.grantOf[refreshToken] { state.grants[name]?.isExcused = true }
        }
    }

    /// Excuses the loss of refresh tokens that nobody has any more.
    ///
    /// - Parameter stored: the refresh tokens that a store had until now. A journal must have those that a refresh has
    ///   brought; those of a sign-in are in no journal.
    func noteLosses(stored: Set<String> = []) {
        let (grants, held, state) = self.state.withLock { state in
            let held = state.inHand.values.flatMap { $0 } + state.onTheWay.values.flatMap(\.values)
            return (state.grants.filter { !$0.value.isDead && !$0.value.isExcused }, Set(held), state)
        }
        for (name, grant) in grants.sorted(by: { $0.key < $1.key }) where grant.serial > 0 {
            guard !held.contains(grant.live), !state.isKnown(grant.live) else { continue }
            if stored.contains(grant.live), state.journalled.contains(grant.live) {
                self.ledger.violate("I2", "a failover has lost \(grant.live) for good")
            }
            // The store may have another grant by now, or none.
            let isWanted = state.storedToken(grant.account).flatMap { state.grantOf[$0] } == name
            if isWanted, state.journalled.contains(grant.live) {
                self.ledger.violate("I2", "a journal had \(grant.live), and neither it nor the store has it any more")
            }
            self.state.withLock { $0.grants[name]?.isExcused = true }
            self.ledger.add(.excused)
            self.ledger.note("nobody", "has \(grant.live) any more")
        }
    }

    /// A request arrives.
    func redeem(_ refreshToken: String, by process: SimulatedProcess, askedAt: BootInstant) -> TokenVerdict {
        let now = self.simulation.now
        let (verdict, reused): (TokenVerdict, String?) = self.state.withLock { state in
            guard let name = state.grantOf[refreshToken], var grant = state.grants[name] else {
                return (.dead(.invalidGrant), "a refresh token that was never issued: \(refreshToken)")
            }
            defer { state.grants[name] = grant }
            guard !grant.isDead else { return (.dead(.invalidGrant), nil) }
            if refreshToken == grant.live {
                grant.former = (grant.live, now)
                grant.serial += 1
                grant.live = "rt-\(name)-\(grant.serial)"
                state.grantOf[grant.live] = name
                // A process that has ended gets no answer.
                if !process.hasEnded {
                    state.onTheWay[ObjectIdentifier(process), default: [:]][refreshToken] = grant.live
                }
            } else if grant.former.map({
                $0.token != refreshToken || $0.replacedAt.duration(to: now) > self.weather.grace
            })
                ?? true
            {
                grant.isDead = true
                // No claim waits for a process that is stopped for so long with the answer in hand.
                let isLate =
                    grant.former.map { $0.replacedAt.duration(to: now) > ProviderConnection.answerLimit } ?? false
                let isStuck = state.inHand.contains { id, tokens in
                    tokens.contains(grant.live) && state.processes[id]?.isStopped == true
                }
                let isExcused = grant.isExcused || state.unclaimed.contains(refreshToken) || isLate && isStuck
                return (.dead(.invalidGrant), isExcused ? nil : "\(refreshToken) was replaced, and is sent again")
            }
            return (.success(self.issue(grant, name, askedAt: askedAt, &state)), nil)
        }
        if let reused { self.ledger.violate("a grant is lost", reused) }
        if case .success = verdict { self.ledger.add(.refreshed) }
        return verdict
    }

    /// The answer with the grant's refresh token and a new access token.
    private func issue(_ grant: Grant, _ name: String, askedAt: BootInstant, _ state: inout State) -> TokenGrant {
        let text = "at-\(name)-\(grant.serial)-\(state.accessTokens.count)"
        state.accessTokens[text] = AccessToken(
            text: text,
            account: grant.account,
            grant: name,
            askedAt: askedAt,
            endsAt: self.simulation.now.advanced(by: self.weather.lifetime)
        )
        return TokenGrant(
            accessToken: Secret(text),
            refreshToken: Secret(grant.live),
            lifetime: self.weather.lifetime,
            scopes: []
        )
    }

    /// A code arrives, which brings a new grant, once.
    func redeem(code: String, by process: SimulatedProcess) -> TokenVerdict {
        self.state.withLock { state in
            guard let person = state.codes.removeValue(forKey: code) else { return .dead(.invalidGrant) }
            let name = "\(person.account).\(state.grants.count)"
            let grant = Grant(account: person.account, live: "rt-\(name)-1", serial: 1)
            state.grants[name] = grant
            state.grantOf[grant.live] = name
            if !process.hasEnded { state.onTheWay[ObjectIdentifier(process), default: [:]][code] = grant.live }
            return .success(self.issue(grant, name, askedAt: person.begunAt, &state))
        }
    }

    /// Ends the grant of a refresh token, as asked.
    func revoke(_ token: String, for process: String) {
        self.ledger.note(process, "has \(token) revoked")
        self.state.withLock { state in
            guard let name = state.grantOf[token] else { return }
            state.grants[name]?.isDead = true
            state.grants[name]?.isRevoked = true
            state.grants[name]?.isExcused = true
        }
    }
}

extension VerdictReason {
    static var invalidGrant: VerdictReason { VerdictReason("invalid_grant") ?? .noKnownReason }
}

extension Secret {
    /// The secret as text. Tokens of a simulation need no protection.
    var text: String {
        self.withUnredacted { span in String(decoding: span.indices.map { span[$0] }, as: UTF8.self) }
    }
}
