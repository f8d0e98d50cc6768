import OAuth
import ProviderClient
import Synchronization
import TokenModel

/// A provider with scripted responses, which records what it is asked: as people sign in at it, and as tokens are
/// refreshed and revoked there.
final class ScriptedProvider: AuthorizationServer, TokenEndpoint {
    /// A code that was exchanged, with what proves that it is ours.
    struct Redemption: Equatable {
        let code: String
        let verifier: String
        let redirectURI: String
    }

    private struct State {
        var features = SignInFeatures.usual
        var binding = ScriptedProvider.binding
        var refusal: AuthorizationServerError?
        var device = DeviceAuthorization.sample()
        var extras: [[String: String]] = []
        var verdicts: [TokenVerdict] = []
        var deviceVerdicts: [TokenVerdict] = []
        var subject: Result<String, IDTokenError> = .success("somebody")
        var revocation = RevocationVerdict.revoked
        var meanwhile: (@Sendable () async -> Void)?
        var redeemed: [Redemption] = []
        var asked: [String] = []
        var nonces: [String?] = []
        var revoked: [String] = []
        var isAsked = false
    }

    static let origin = "https://login.acme.example:443"
    static let issuer = "https://login.acme.example"
    static let binding = EndpointBinding(
        issuer: .issuer(ScriptedProvider.origin, tokenEndpoint: "\(ScriptedProvider.origin)/token"),
        clientID: "my-app"
    )

    /// One of another issuer.
    static func elsewhere() -> ScriptedProvider {
        let provider = ScriptedProvider()
        let origin = "https://login.other.example:443"
        provider.binding = EndpointBinding(
            issuer: .issuer(origin, tokenEndpoint: "\(origin)/token"),
            clientID: "my-app"
        )
        return provider
    }

    let timeout = Duration.seconds(8)
    let answerTimeout = Duration.seconds(30)
    private let state = Mutex(State())

    // MARK: - What it is to do

    var features: SignInFeatures {
        get { self.state.withLock { $0.features } }
        set { self.state.withLock { $0.features = newValue } }
    }

    var binding: EndpointBinding {
        get { self.state.withLock { $0.binding } }
        set { self.state.withLock { $0.binding = newValue } }
    }

    /// Makes it refuse to begin sign-ins.
    func refuse(_ error: AuthorizationServerError?) { self.state.withLock { $0.refusal = error } }

    /// What it gives a device to begin with.
    func offer(_ device: DeviceAuthorization) { self.state.withLock { $0.device = device } }

    /// Adds verdicts on the next codes. When there are none left, it can't be reached.
    func answer(_ verdicts: TokenVerdict...) { self.state.withLock { $0.verdicts += verdicts } }

    /// Adds verdicts on the next questions of devices. When there are none left, the person has not agreed yet.
    func answerDevices(_ verdicts: TokenVerdict...) { self.state.withLock { $0.deviceVerdicts += verdicts } }

    func identify(_ subject: Result<String, IDTokenError>) { self.state.withLock { $0.subject = subject } }

    func answerRevocations(_ verdict: RevocationVerdict) { self.state.withLock { $0.revocation = verdict } }

    /// Calls `body` during the next exchange, before it is answered.
    func duringNextExchange(_ body: @escaping @Sendable () async -> Void) {
        self.state.withLock { $0.meanwhile = body }
    }

    // MARK: - What it was asked

    var redeemed: [Redemption] { self.state.withLock { $0.redeemed } }
    /// The device codes that tokens were asked for with.
    var asked: [String] { self.state.withLock { $0.asked } }
    /// Whether an exchange waits for the body of ``duringNextExchange(_:)``.
    var isAsked: Bool { self.state.withLock { $0.isAsked } }
    /// The nonces that ID tokens were to have.
    var nonces: [String?] { self.state.withLock { $0.nonces } }
    var revoked: [String] { self.state.withLock { $0.revoked } }
    /// The configured parameters of each request for a device.
    var extras: [[String: String]] { self.state.withLock { $0.extras } }

    // MARK: - AuthorizationServer

    func features() async throws(AuthorizationServerError) -> SignInFeatures {
        try self.checkForRefusal()
        return self.features
    }

    func authorizationURL(_ request: AuthorizationRequest) async throws(AuthorizationServerError) -> String {
        try self.checkForRefusal()
        do throws(ProviderURLError) {
            return request.url(at: try ProviderURL("\(Self.issuer)/authorize"), clientID: self.binding.clientID)
        } catch {
            throw AuthorizationServerError(.malformed, error.message)
        }
    }

    private func checkForRefusal() throws(AuthorizationServerError) {
        if let refusal = self.state.withLock({ $0.refusal }) { throw refusal }
    }

    func redeem(
        _ code: Secret,
        of issuer: TokenIssuer,
        verifier: Secret,
        redirectURI: String
    ) async -> TokenVerdict {
        let redemption = Redemption(code: code.text, verifier: verifier.text, redirectURI: redirectURI)
        self.state.withLock { $0.redeemed.append(redemption) }
        await self.meanwhile()
        return self.state.withLock { state in
            state.verdicts.isEmpty ? .notSent(.connectFailed) : state.verdicts.removeFirst()
        }
    }

    func startDevice(
        scopes: [String],
        extra: [String: String]
    ) async throws(AuthorizationServerError) -> DeviceAuthorization {
        try self.checkForRefusal()
        return self.state.withLock { state in
            state.extras.append(extra)
            return state.device
        }
    }

    func redeem(device code: Secret, of issuer: TokenIssuer) async -> TokenVerdict {
        // Each question has one verdict, in the order in which they come.
        let verdict = self.state.withLock { state in
            state.asked.append(code.text)
            return state.deviceVerdicts.isEmpty
                ? .refused(.code("authorization_pending")) : state.deviceVerdicts.removeFirst()
        }
        await self.meanwhile()
        return verdict
    }

    private func meanwhile() async {
        guard let body = self.state.withLock({ $0.meanwhile.take() }) else { return }
        self.state.withLock { $0.isAsked = true }
        await body()
        self.state.withLock { $0.isAsked = false }
    }

    func subject(of idToken: Secret, nonce: String?) async throws(IDTokenError) -> String {
        try self.state.withLock { state in
            state.nonces.append(nonce)
            return state.subject
        }.get()
    }

    // MARK: - TokenEndpoint

    func redeem(
        _ refreshToken: Secret,
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        await self.redeem(refreshToken, of: self.binding.issuer, verifier: Secret(""), redirectURI: "")
    }

    func mint(scopes: [String], mayStillSend: @escaping @Sendable () -> Bool) async -> TokenVerdict {
        .notSent(.notConfigured)
    }

    func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict {
        self.state.withLock { state in
            state.revoked.append(token.text)
            return state.revocation
        }
    }
}

extension SignInFeatures {
    static let usual = SignInFeatures.sample()

    static func sample(
        hasAuthorizationEndpoint: Bool = true,
        hasDeviceEndpoint: Bool = true,
        promisesIssuer: Bool = true,
        issuer: String? = ScriptedProvider.issuer,
        validatesIDTokens: Bool = true,
        refusesS256: Bool = false
    ) -> SignInFeatures {
        SignInFeatures(
            hasAuthorizationEndpoint: hasAuthorizationEndpoint,
            authorizationOrigin: ScriptedProvider.origin,
            hasDeviceEndpoint: hasDeviceEndpoint,
            promisesIssuer: promisesIssuer,
            issuer: issuer,
            validatesIDTokens: validatesIDTokens,
            refusesS256: refusesS256
        )
    }
}

extension DeviceAuthorization {
    /// By default valid for 5 minutes and asked about every 5 s.
    static func sample(lifetime: Duration = .seconds(300), interval: Duration = .seconds(5)) -> DeviceAuthorization {
        DeviceAuthorization(
            deviceCode: Secret("device-code"),
            userCode: "WDJB-MJHT",
            verificationURI: "https://login.acme.example/device",
            verificationURIComplete: "https://login.acme.example/device?user_code=WDJB-MJHT",
            lifetime: lifetime,
            interval: interval
        )
    }
}

extension TokenVerdict {
    /// The tokens number `number`: `rt-1` and `at-1` for the first.
    static func tokens(
        _ number: Int = 1,
        withoutRefreshToken: Bool = false,
        scopes: [String] = [],
        idToken: String? = nil
    ) -> TokenVerdict {
        .success(
            TokenGrant(
                accessToken: Secret("at-\(number)"),
                refreshToken: withoutRefreshToken ? nil : Secret("rt-\(number)"),
                lifetime: .seconds(3_600),
                scopes: scopes,
                idToken: idToken.map { Secret($0) }
            )
        )
    }
}

extension VerdictReason {
    /// The reason with an error code of the provider.
    static func code(_ code: String) -> VerdictReason { VerdictReason(code) ?? .noKnownReason }
}

extension Secret {
    /// The secret as text. Test tokens need no protection.
    var text: String {
        self.withUnredacted { span in String(decoding: span.indices.map { span[$0] }, as: UTF8.self) }
    }
}
