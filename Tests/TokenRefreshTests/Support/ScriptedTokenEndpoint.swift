import OAuth
import ProviderClient
import Synchronization
import TokenModel

/// A provider in this process. It rotates refresh tokens, each valid for one use, unless a script says otherwise.
///
/// It can hold back its responses after the rotation until a test releases them.
final class ScriptedTokenEndpoint: TokenEndpoint {
    private struct State {
        var live = "rt-0"
        var issued = 0
        var lifetime = Duration.seconds(3_600)
        var script: [TokenVerdict] = []
        var standing: TokenVerdict?
        var standingFor: [AccountID: TokenVerdict] = [:]
        var spent: [String] = []
        var minted = 0
        var atOnce = 0
        var mostAtOnce = 0
        var isHolding = false
        var held: [CheckedContinuation<Void, Never>] = []
        var revoked: [String] = []
        var revocation = RevocationVerdict.revoked
        var whileConnecting: (@Sendable () -> Void)?
        var whileRevoking: (@Sendable () async -> Void)?
        var issuer = TokenIssuer.tokenEndpoint("\(origin)/token")
        var discovery: TokenIssuer?
        var doubts = 0
        var sentFor: [TokenIssuer] = []
    }

    /// Moves the endpoint to `issuer`. The next ``locate()`` replaces that by `discovered`, if given.
    func move(to issuer: TokenIssuer, discovered: TokenIssuer? = nil) {
        self.state.withLock { ($0.issuer, $0.discovery) = (issuer, discovered) }
    }

    func locate() async {
        self.state.withLock { state in
            if let discovery = state.discovery { state.issuer = discovery }
        }
    }

    func doubt() { self.state.withLock { $0.doubts += 1 } }

    func sending(onlyTo issuer: TokenIssuer) -> any TokenEndpoint {
        self.state.withLock { $0.sentFor.append(issuer) }
        return self
    }

    /// The number of requests to discover the endpoint again.
    var doubts: Int { self.state.withLock { $0.doubts } }
    /// The issuers that token requests were limited to, in order.
    var sentFor: [TokenIssuer] { self.state.withLock { $0.sentFor } }

    private let clientID: String
    var binding: EndpointBinding {
        EndpointBinding(issuer: self.state.withLock { $0.issuer }, clientID: self.clientID)
    }
    let timeout = Duration.seconds(8)
    let answerTimeout: Duration
    private let state = Mutex(State())

    init(clientID: String = "my-app", answerTimeout: Duration = .seconds(8)) {
        self.answerTimeout = answerTimeout
        self.clientID = clientID
    }

    /// The refresh tokens in the order of their arrival.
    var spent: [String] { self.state.withLock { $0.spent } }
    /// The number of mint requests.
    var minted: Int { self.state.withLock { $0.minted } }
    /// The maximum number of exchanges in progress at the same time.
    var mostAtOnce: Int { self.state.withLock { $0.mostAtOnce } }
    var heldCount: Int { self.state.withLock { $0.held.count } }
    var revoked: [String] { self.state.withLock { $0.revoked } }

    /// Responds to the next exchanges with `verdicts` and then rotates again.
    func answer(_ verdicts: TokenVerdict...) {
        self.state.withLock { $0.script += verdicts }
    }

    /// Responds with `verdict` to every refresh without a verdict of its own, instead of rotating.
    func answerAll(with verdict: TokenVerdict) {
        self.state.withLock { $0.standing = verdict }
    }

    /// Responds with `verdict` to every refresh of one account.
    func answerAll(for account: AccountID, with verdict: TokenVerdict) {
        self.state.withLock { $0.standingFor[account] = verdict }
    }

    /// Sets the lifetime of the access tokens that are issued from now on.
    func issue(lifetime: Duration) {
        self.state.withLock { $0.lifetime = lifetime }
    }

    func answerRevocations(_ verdict: RevocationVerdict) {
        self.state.withLock { $0.revocation = verdict }
    }

    /// Holds back the responses to exchanges that begin from now on.
    func hold() {
        self.state.withLock { $0.isHolding = true }
    }

    /// Releases all responses.
    func release() {
        let held = self.state.withLock { state in
            defer { state.held = [] }
            state.isHolding = false
            return state.held
        }
        for answer in held { answer.resume() }
    }

    func redeem(
        _ refreshToken: Secret,
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        self.state.withLock { $0.whileConnecting.take() }?()
        guard mayStillSend() else { return .notSent(.sendingTooLate) }
        let verdict = self.state.withLock { state in
            state.atOnce += 1
            state.mostAtOnce = max(state.mostAtOnce, state.atOnce)
            return Self.evaluate(refreshToken.text, in: &state)
        }
        await self.rest()
        self.state.withLock { $0.atOnce -= 1 }
        return verdict
    }

    func mint(scopes: [String], mayStillSend: @escaping @Sendable () -> Bool) async -> TokenVerdict {
        self.state.withLock { $0.whileConnecting.take() }?()
        guard mayStillSend() else { return .notSent(.sendingTooLate) }
        let verdict = self.state.withLock { state in
            state.atOnce += 1
            state.mostAtOnce = max(state.mostAtOnce, state.atOnce)
            state.minted += 1
            if !state.script.isEmpty { return state.script.removeFirst() }
            return .success(.sample(state.minted, lifetime: state.lifetime, rotates: false))
        }
        await self.rest()
        self.state.withLock { $0.atOnce -= 1 }
        return verdict
    }

    /// Calls `body` right before the next refresh token or mint request is sent.
    func whileConnecting(_ body: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.whileConnecting = body }
    }

    /// Calls `body` at the beginning of each revocation.
    func whileRevoking(_ body: @escaping @Sendable () async -> Void) {
        self.state.withLock { $0.whileRevoking = body }
    }

    func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict {
        let meanwhile = self.state.withLock { $0.whileRevoking }
        await meanwhile?()
        return self.state.withLock { state in
            state.revoked.append(token.text)
            return state.revocation
        }
    }

    private func rest() async {
        await withCheckedContinuation { continuation in
            let isHeld = self.state.withLock { state in
                if state.isHolding { state.held.append(continuation) }
                return state.isHolding
            }
            if !isHeld { continuation.resume() }
        }
    }

    private static func evaluate(_ refreshToken: String, in state: inout State) -> TokenVerdict {
        state.spent.append(refreshToken)
        if let verdict = ExchangeSubject.account.get().flatMap({ state.standingFor[$0] }) { return verdict }
        if !state.script.isEmpty { return state.script.removeFirst() }
        if let availability = state.standing { return availability }
        guard refreshToken == state.live else { return .dead(.code("invalid_grant")) }
        state.issued += 1
        state.live = "rt-\(state.issued)"
        return .success(.sample(state.issued, lifetime: state.lifetime))
    }
}
