internal import OAuth
internal import ProviderClient
internal import Synchronization
internal import TokenModel

/// A provider that signs everybody in, or answers as a test has it.
final class ScriptedAuthorizationServer: AuthorizationServer {
    private struct State {
        var requests: [String] = []
        var codes: [Secret] = []
        var fault: AuthorizationServerError?
        var verdict: TokenVerdict?
        var gate: Gate?
    }

    let binding: EndpointBinding
    let answerTimeout = Duration.seconds(8)
    private let state = Mutex(State())

    init(_ binding: EndpointBinding) { self.binding = binding }

    /// The addresses that browsers were sent to.
    var requests: [String] { self.state.withLock { $0.requests } }
    /// The codes that came.
    var codes: [Secret] { self.state.withLock { $0.codes } }

    /// Makes all further requests for an address fail; `nil` for none.
    func refuse(with fault: AuthorizationServerError?) { self.state.withLock { $0.fault = fault } }

    /// Answers all further codes with `verdict`.
    func answer(with verdict: TokenVerdict) { self.state.withLock { $0.verdict = verdict } }

    /// Makes codes wait at `gate`.
    func hold(at gate: Gate) { self.state.withLock { $0.gate = gate } }

    /// Lets all waiting codes through.
    func release() { self.state.withLock { $0.gate }?.open() }

    func features() async throws(AuthorizationServerError) -> SignInFeatures {
        SignInFeatures(
            hasAuthorizationEndpoint: true,
            hasDeviceEndpoint: false,
            promisesIssuer: false,
            issuer: "https://login.acme.example",
            validatesIDTokens: false,
            refusesS256: false
        )
    }

    func authorizationURL(_ request: AuthorizationRequest) async throws(AuthorizationServerError) -> String {
        if let fault = self.state.withLock({ $0.fault }) { throw fault }
        guard let endpoint = try? ProviderURL("https://login.acme.example/authorize") else {
            throw AuthorizationServerError(.malformed, "no address")
        }
        let url = request.url(at: endpoint, clientID: self.binding.clientID)
        self.state.withLock { $0.requests.append(url) }
        return url
    }

    func redeem(
        _ code: Secret,
        of issuer: TokenIssuer,
        verifier: Secret,
        redirectURI: String
    ) async -> TokenVerdict {
        let gate = self.state.withLock { state in
            state.codes.append(code)
            return state.gate
        }
        await gate?.credential()
        let grant = TokenGrant(
            accessToken: Secret("access-canary"),
            refreshToken: Secret("refresh-canary"),
            lifetime: .seconds(3_600)
        )
        return self.state.withLock { $0.verdict } ?? .success(grant)
    }

    func startDevice(
        scopes: [String],
        extra: [String: String]
    ) async throws(AuthorizationServerError) -> DeviceAuthorization {
        throw AuthorizationServerError(.notOffered, "no devices")
    }

    func redeem(device code: Secret, of issuer: TokenIssuer) async -> TokenVerdict { .notSent(.connectFailed) }

    func subject(of idToken: Secret, nonce: String?) async throws(IDTokenError) -> String { "somebody" }

    func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict { .revoked }
}
