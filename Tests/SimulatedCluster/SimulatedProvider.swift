internal import OAuth
internal import ProviderClient
internal import Simulation
internal import Synchronization
internal import TestKit
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
        /// The refresh tokens whose claim a failover has lost.
        var unclaimed: Set<String> = []
        var isKnown: @Sendable (String) -> Bool = { _ in true }
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

    /// - Parameter isKnown: whether a store or a journal has the refresh token.
    func know(_ isKnown: @escaping @Sendable (String) -> Bool) { self.state.withLock { $0.isKnown = isKnown } }

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
    /// - Parameter stored: the refresh tokens that a store had until now. A journal must have those.
    func noteLosses(stored: Set<String> = []) {
        let (grants, held, isKnown) = self.state.withLock { state in
            let held = state.inHand.values.flatMap { $0 } + state.onTheWay.values.flatMap(\.values)
            return (state.grants.filter { !$0.value.isDead && !$0.value.isExcused }, Set(held), state.isKnown)
        }
        for (name, grant) in grants.sorted(by: { $0.key < $1.key }) where grant.serial > 0 {
            guard !held.contains(grant.live), !isKnown(grant.live) else { continue }
            if stored.contains(grant.live) { self.ledger.violate("I2", "a failover has lost \(grant.live) for good") }
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
                let isExcused = grant.isExcused || state.unclaimed.contains(refreshToken)
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

/// The provider as one process reaches it.
struct ProviderConnection: TokenEndpoint, AuthorizationServer {
    let provider: SimulatedProvider
    let process: SimulatedProcess
    /// That of the process's host, by which it gives up a request.
    let clock: SimulatedClock
    let name: String
    let network: Network
    let weather: Weather
    let mutation: Mutation?

    static let id = ProviderID("acme")
    static let answerLimit = Duration.seconds(30)

    let binding = EndpointBinding(issuer: .tokenEndpoint("https://login.example/token"), clientID: "my-app")
    let timeout = Duration.seconds(8)
    var answerTimeout: Duration { Self.answerLimit }

    func redeem(
        _ refreshToken: Secret,
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        // The connection is made first.
        await self.network.pause(self.network.way(upTo: .milliseconds(50)))
        guard !self.process.hasEnded else { return .notSent(.shutDown) }
        guard mayStillSend() || self.mutation == .oldTokensAreSent else { return .notSent(.sendingTooLate) }
        let (token, askedAt) = (refreshToken.text, self.network.simulation.now)
        self.provider.begin(token, by: self.process, named: self.name)
        return await self.ask(token) { [provider, process] in provider.redeem(token, by: process, askedAt: askedAt) }
    }

    /// Makes a token request, whose answer may come late or never, and may be an error although the request had its effect.
    private func ask(_ sent: String, _ redeem: @escaping @Sendable () -> TokenVerdict) async -> TokenVerdict {
        let (chance, weather, limit) = (self.network.chance, self.weather, Self.answerLimit)
        var back = self.network.way(upTo: .milliseconds(500))
        if chance.hasFaults, chance.happens(weather.answerIsLate) { back = self.network.way(upTo: limit) }
        if chance.hasFaults, chance.happens(weather.answerIsLost) { back = limit * 2 }
        let fails = chance.hasFaults && chance.happens(weather.serverFails)
        let (provider, process, name) = (self.provider, self.process, self.name)
        return await self.network.call(
            there: self.network.way(),
            back: back,
            within: self.clock.simulated(limit),
            otherwise: .ambiguous(.timedOut),
            ended: { provider.end(sent, by: process, named: name, $0) }
        ) {
            if fails, chance.happens(0.5) { return .ambiguous(.serverError) }
            let verdict = redeem()
            return fails ? .ambiguous(.serverError) : verdict
        }
    }

    func mint(scopes: [String], mayStillSend: @escaping @Sendable () -> Bool) async -> TokenVerdict {
        .notSent(.notConfigured)
    }

    func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict {
        guard !self.process.hasEnded else { return .unreachable(.shutDown) }
        let (provider, text, name) = (self.provider, token.text, self.name)
        return await self.network.call(
            there: self.network.way(),
            back: self.network.way(),
            within: self.timeout,
            otherwise: .unreachable(.timedOut)
        ) {
            provider.revoke(text, for: name)
            return .revoked
        }
    }

    // MARK: - Signing in

    func features() async throws(AuthorizationServerError) -> SignInFeatures {
        SignInFeatures(
            hasAuthorizationEndpoint: true,
            hasDeviceEndpoint: false,
            promisesIssuer: false,
            issuer: nil,
            validatesIDTokens: false,
            refusesS256: false
        )
    }

    func authorizationURL(_ request: AuthorizationRequest) async throws(AuthorizationServerError) -> String {
        do throws(ProviderURLError) {
            return request.url(at: try ProviderURL("https://login.example/authorize"), clientID: self.binding.clientID)
        } catch {
            throw AuthorizationServerError(.malformed, error.message)
        }
    }

    func redeem(_ code: Secret, of issuer: TokenIssuer, verifier: Secret, redirectURI: String) async -> TokenVerdict {
        guard !self.process.hasEnded else { return .notSent(.shutDown) }
        let text = code.text
        self.provider.begin(text, by: self.process, named: self.name)
        return await self.ask(text) { [provider, process] in provider.redeem(code: text, by: process) }
    }

    func startDevice(
        scopes: [String],
        extra: [String: String]
    ) async throws(AuthorizationServerError) -> DeviceAuthorization {
        throw AuthorizationServerError(.notOffered, "there are no devices")
    }

    func redeem(device code: Secret, of issuer: TokenIssuer) async -> TokenVerdict { .notSent(.notConfigured) }

    func subject(of idToken: Secret, nonce: String?) async throws(IDTokenError) -> String {
        throw IDTokenError(.untrusted, "there are no ID tokens")
    }
}
