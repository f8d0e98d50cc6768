package import Logging
package import NIOCore
internal import NIOSSL
package import OAuth
package import TokenModel

/// A provider over HTTP.
///
/// If the endpoints are discovered, the first call fetches the issuer's metadata before its own exchange, for at most
/// ``timeout`` more. The first call after a failed discovery does the same. `mayStillSend` is called after that.
///
/// The caller owns the connections: ``shutDown()`` must be called once, before the last reference is released. It ends
/// exchanges in progress. Only the status, length and verdict of each response are logged. An exchange that yields no
/// tokens is logged as a warning that names the endpoint.
package final class HTTPTokenEndpoint: TokenEndpoint {
    package let timeout: Duration
    package let answerTimeout: Duration

    let settings: ProviderSettings
    let connector: ProviderConnector
    let metadata: MetadataSource
    let keySet: KeySetSource
    let prover: ClientProver
    let clock: ProviderClock
    private let classifier: ResponseClassifier
    let timepiece: Timepiece
    let logger: Logger

    /// - Parameters:
    ///   - group: the event loops of its connections.
    ///   - timepiece: its wall clock serves for expiries that a provider gives as a date and for the times in assertions,
    ///     its boot clock for the age of keys.
    package init(
        _ settings: ProviderSettings,
        on group: any EventLoopGroup,
        timepiece: Timepiece = .system,
        logger: Logger
    ) throws(ProviderSettingsError) {
        var logger = logger
        logger[metadataKey: "provider.name"] = "\(settings.name)"
        let connector = try ProviderConnector(
            on: group,
            timeout: settings.timeout,
            trustRoots: try Self.certificates(settings.trustRoots),
            identity: settings.identity
        )
        self.timeout = settings.timeout
        self.answerTimeout = settings.answerTimeout
        self.settings = settings
        self.connector = connector
        self.metadata = MetadataSource(settings, over: connector, logger: logger)
        self.keySet = KeySetSource(over: connector, timepiece: timepiece, logger: logger)
        self.prover = ClientProver(settings.client)
        self.clock = ProviderClock(logger: logger)
        self.classifier = ResponseClassifier(rules: settings.rules)
        self.timepiece = timepiece
        self.logger = logger
    }

    package var binding: EndpointBinding {
        EndpointBinding(
            issuer: self.settings.issuer(naming: self.metadata.lastTokenEndpoint),
            clientID: self.settings.client.clientID
        )
    }

    /// The numbers of the client's proofs, in the order to try them.
    package var proofOrder: [Int] { self.prover.order }

    package var proofSecret: Secret? { self.secret(self.prover.order[0]) }
    package var proofAcceptedAt: WallTime? { self.prover.acceptedAt }

    /// The secret of one of ``proofOrder``; `nil` if that proof is not a secret.
    package func secret(_ proof: Int) -> Secret? { self.prover.secret(proof) }

    package func isClientSecret(_ value: Secret) -> Bool { self.prover.isSecret(value) }

    package func redeem(
        _ refreshToken: Secret,
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        await self.redeem(refreshToken, scopes: scopes, proof: nil, mayStillSend: mayStillSend)
    }

    /// - Parameters:
    ///   - issuer: the issuer of the refresh token; `nil` for the current one.
    ///   - proof: one of ``proofOrder``; `nil` for the first of them.
    package func redeem(
        _ refreshToken: Secret,
        of issuer: TokenIssuer? = nil,
        scopes: [String],
        proof: Int?,
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        let parameters = self.settings.tokenParameters
        return await self.ask("token endpoint was asked to refresh", issuer, proof, mayStillSend) { client, _, _ in
            .refresh(refreshToken, scopes: scopes, parameters: parameters, client: client)
        } meaning: {
            $0
        }
    }

    package func mint(
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        await self.mint(.clientCredentials, scopes: scopes, proof: nil, mayStillSend: mayStillSend)
    }

    /// - Parameter proof: one of ``proofOrder``; `nil` for the first of them.
    package func mint(
        _ grant: MintGrant,
        scopes: [String],
        proof: Int?,
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        let parameters = self.settings.tokenParameters
        return await self.ask("token endpoint was asked to mint", nil, proof, mayStillSend) { client, endpoint, now in
            switch grant {
            case .clientCredentials:
                .clientCredentials(scopes: scopes, parameters: parameters, client: client)
            case .password(let username, let password):
                .password(password, of: username, scopes: scopes, parameters: parameters, client: client)
            case .jwtBearer(let assertion):
                assertion.sign(for: endpoint, scopes: scopes, now: now).map {
                    FormRequest.jwtBearer($0, scopes: scopes, parameters: parameters, client: client)
                }
            }
        } meaning: {
            $0.ofMint
        }
    }

    /// - Parameters:
    ///   - isUsual: whether a verdict without tokens needs no warning.
    ///   - makeRequest: called when the endpoint is known, with a registration that may be signed for that endpoint
    ///     only. Returns `nil` if the request can't be signed.
    func ask(
        _ message: Logger.Message,
        _ issuer: TokenIssuer?,
        _ proof: Int?,
        _ mayStillSend: @escaping @Sendable () -> Bool,
        isUsual: (TokenVerdict) -> Bool = { _ in false },
        makeRequest: (ClientRegistration, ProviderURL, WallTime) -> FormRequest?,
        meaning: (TokenVerdict) -> TokenVerdict
    ) async -> TokenVerdict {
        guard let endpoint = try? await self.metadata.tokenEndpoint() else { return .notSent(.discoveryFailed) }
        if let issuer {
            // The caller decided on this request before the endpoint was known.
            guard issuer.isSettled else { return .notSent(.discoveryFailed) }
            guard issuer.match(self.settings.issuer(naming: endpoint)) == .same else { return .notSent(.endpointMoved) }
        }
        let proof = proof ?? self.prover.order[0]
        let signedAt = self.clock.corrected(self.timepiece.now.wall)
        guard let client = self.prover.registration(proof, for: .tokens(endpoint), now: signedAt),
            let request = makeRequest(client, endpoint, signedAt)
        else {
            self.logger.error("an assertion could not be signed, and nothing was sent")
            return .notSent(.signingFailed)
        }
        let outcome = await self.connector.post(
            request,
            to: endpoint,
            within: self.answerTimeout,
            mayStillSend: mayStillSend
        )
        let now = self.timepiece.now.wall
        let verdict = meaning(self.classifier.tokenVerdict(on: outcome, now: now))

        if case .success = verdict {
            if self.prover.worked(proof, at: now) {
                self.logger.notice(
                    "a provider takes another of the client's secrets than before",
                    metadata: ["client.proof": .stringConvertible(proof + 1)]
                )
            }
            self.log(message, outcome, verdict.name, verdict.reason)
        } else if isUsual(verdict) {
            self.log(message, outcome, verdict.name, verdict.reason)
        } else {
            self.log(
                "token endpoint gave no tokens",
                at: .warning,
                of: endpoint,
                shown: proof,
                outcome,
                verdict.name,
                verdict.reason
            )
        }
        self.clock.learn(from: outcome, now: now)
        if outcome.hintsThatEndpointMoved { self.metadata.forget() }
        return verdict
    }

    package func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict {
        await self.revoke(token, of: nil, kind: kind)
    }

    /// - Parameter issuer: the issuer of the token; `nil` for the current one.
    package func revoke(_ token: Secret, of issuer: TokenIssuer?, kind: RevocableToken) async -> RevocationVerdict {
        let endpoint: ProviderURL
        var tokenEndpoint: ProviderURL
        do throws(MetadataSource.Unavailable) {
            guard let named = try await self.metadata.revocationEndpoint() else { return .unsupported }
            (endpoint, tokenEndpoint) = (named, named)
            // Signed proofs may have the token endpoint as their audience. And an issuer that has moved its token
            // endpoint has no authority over tokens issued before.
            if self.prover.signs || issuer != nil { tokenEndpoint = try await self.metadata.tokenEndpoint() }
        } catch {
            return .unreachable(.discoveryFailed)
        }
        if let issuer {
            let isOurs = issuer.match(self.settings.issuer(naming: tokenEndpoint)) == .same
            guard isOurs, self.mayRevoke(at: endpoint, beside: tokenEndpoint) else {
                return .unreachable(.endpointMoved)
            }
        }
        let place = ClientProver.Place(
            endpoint: endpoint,
            tokenEndpoint: tokenEndpoint,
            issuer: self.settings.issuerName
        )
        var verdict = RevocationVerdict.unreachable(.signingFailed)
        // A revocation spends nothing, so the proofs can be tried one after another.
        for proof in self.prover.order {
            for audience in [ClientProver.Audience.revocation(place), .own(endpoint)] {
                // Some servers require each endpoint's own URL as the audience. Only signed proofs have an audience.
                if case .own = audience {
                    let first = self.prover.audience(proof, .revocation(place))
                    guard case .clientRefused = verdict, let first, first != endpoint.text else { break }
                }
                let now = self.clock.corrected(self.timepiece.now.wall)
                guard let client = self.prover.registration(proof, for: audience, now: now) else { return verdict }
                verdict = await self.revoke(token, kind: kind, at: endpoint, as: client)
            }
            switch verdict {
            case .refused, .clientRefused: continue
            case .revoked, .unsupported, .unreachable: return verdict
            }
        }
        return verdict
    }

    /// Whether a token that may still be valid can be sent to `endpoint`. It can if the configuration names the
    /// endpoint, or if the endpoint has the origin of the issuer or of the token endpoint. Otherwise, tampered
    /// metadata could name an attacker's server.
    private func mayRevoke(at endpoint: ProviderURL, beside tokenEndpoint: ProviderURL) -> Bool {
        self.metadata.isRevocationEndpointNamed || endpoint.origin == tokenEndpoint.origin
            || endpoint.origin == self.settings.issuer().origin
    }

    private func revoke(
        _ token: Secret,
        kind: RevocableToken,
        at endpoint: ProviderURL,
        as client: ClientRegistration
    ) async -> RevocationVerdict {
        let request = FormRequest.revocation(of: token, kind: kind, client: client)
        let outcome = await self.connector.post(request, to: endpoint, within: self.timeout, mayStillSend: { true })
        let verdict = self.classifier.revocationVerdict(on: outcome)

        self.log("revocation endpoint was asked to revoke", outcome, verdict.name, verdict.reason)
        if outcome.hintsThatEndpointMoved { self.metadata.forget() }
        return verdict
    }

    package var revokes: Bool? { self.metadata.revokes }

    /// Fetches the metadata needed to revoke, if it is unknown. Sends no token.
    package func discover() async { _ = try? await self.metadata.revocationEndpoint() }

    package func locate() async { _ = try? await self.metadata.tokenEndpoint() }

    package func doubt() { self.metadata.doubt() }

    /// Fetches the issuer's metadata now. Sends no token.
    package func survey() async -> MetadataFinding { await self.metadata.survey() }

    /// Closes all connections. Exchanges in progress end without a response, later ones with `shut_down`.
    package func shutDown() async { await self.connector.shutDown() }
}

extension HTTPTokenEndpoint {
    private static func certificates(_ file: String?) throws(ProviderSettingsError) -> [NIOSSLCertificate] {
        guard let file else { return [] }
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(file), !certificates.isEmpty else {
            throw ProviderSettingsError(
                .trustRootsUnreadable,
                "no certificates could be read from \(file): it must be a PEM file that this user may read"
            )
        }
        return certificates
    }

    func log(
        _ message: Logger.Message,
        at level: Logger.Level = .debug,
        of endpoint: ProviderURL? = nil,
        shown proof: Int? = nil,
        _ outcome: ExchangeOutcome,
        _ verdict: String,
        _ reason: VerdictReason?
    ) {
        var facts: Logger.Metadata = ["verdict": "\(verdict)"]
        if let account = ExchangeSubject.account.get() { facts["account.name"] = "\(account)" }
        if let endpoint { facts["url.full"] = "\(endpoint.withoutQuery)" }
        if let proof, self.prover.hasChoice { facts["client.proof"] = .stringConvertible(proof + 1) }
        if let reason { facts["reason"] = "\(reason)" }
        if case .responded(let answer) = outcome {
            facts["http.status"] = .stringConvertible(answer.status)
            facts["http.length"] = .stringConvertible(answer.body.count)
        }
        self.logger.log(level: level, message, metadata: facts)
    }
}

extension ExchangeOutcome {
    /// Whether this outcome is typical of an endpoint that no longer exists.
    var hintsThatEndpointMoved: Bool {
        switch self {
        case .notSent(let reason): [.nameUnresolved, .connectFailed, .tlsFailed].contains(reason)
        case .broken: false
        case .responded(let answer): (300..<400).contains(answer.status) || [404, 410].contains(answer.status)
        }
    }
}
