internal import OAuth
internal import ProviderClient
internal import Simulation
internal import TestKit
internal import TokenModel

/// The provider as one process reaches it.
struct ProviderConnection: TokenEndpoint, AuthorizationServer {
    let cluster: SimulatedCluster
    let process: SimulatedProcess
    /// That of the process's host, by which it gives up a request.
    let clock: SimulatedClock
    let name: String
    private var provider: SimulatedProvider { self.cluster.provider }
    private var network: Network { self.cluster.network }

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
        self.cluster.strike(self.process, 0.02)
        await self.network.pause(self.network.way(upTo: .milliseconds(50)))
        guard !self.process.hasEnded else { return .notSent(.shutDown) }
        guard mayStillSend() || self.cluster.mutation == .oldTokensAreSent else { return .notSent(.sendingTooLate) }
        let (token, askedAt) = (refreshToken.text, self.network.simulation.now)
        self.provider.begin(token, by: self.process, named: self.name)
        return await self.ask(token) { [provider, process] in provider.redeem(token, by: process, askedAt: askedAt) }
    }

    /// Makes a token request, whose answer may come late or never, and may be an error although the request had its effect.
    private func ask(_ sent: String, _ redeem: @escaping @Sendable () -> TokenVerdict) async -> TokenVerdict {
        let (chance, weather, limit) = (self.network.chance, self.cluster.weather, Self.answerLimit)
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
