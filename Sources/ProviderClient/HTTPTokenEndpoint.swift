package import Logging
package import NIOCore
internal import NIOSSL
package import OAuth
package import TokenModel

/// A provider over HTTP.
///
/// Where the endpoints are discovered, the first call (and the first after a failed discovery) asks the issuer before
/// its own exchange, for at most ``timeout`` more; `mayStillSend` is asked after that.
///
/// The caller owns the connections: ``shutDown()`` must be called once, before the last reference is gone, and ends
/// exchanges that are under way. Of each answer only status, length and verdict are logged;
/// what gave no tokens is a warning, which names the endpoint.
package final class HTTPTokenEndpoint: TokenEndpoint {
    package let timeout: Duration
    package let answerTimeout: Duration

    private let settings: ProviderSettings
    private let connector: ProviderConnector
    private let metadata: MetadataSource
    private let prover: ClientProver
    private let clock: ProviderClock
    private let classifier: ResponseClassifier
    private let now: @Sendable () -> WallTime
    private let logger: Logger

    /// - Parameters:
    ///   - group: The event loops its connections live on.
    ///   - now: The wall clock; only for expiries that a provider gives as a date, and for what assertions say.
    package init(
        _ settings: ProviderSettings,
        on group: any EventLoopGroup,
        now: @escaping @Sendable () -> WallTime,
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
        self.prover = ClientProver(settings.client)
        self.clock = ProviderClock(logger: logger)
        self.classifier = ResponseClassifier(rules: settings.rules)
        self.now = now
        self.logger = logger
    }

    package var binding: EndpointBinding {
        EndpointBinding(
            issuer: self.settings.issuer(naming: self.metadata.lastTokenEndpoint),
            clientID: self.settings.client.clientID
        )
    }

    /// The client's proofs by number, in the order to try them.
    package var proofOrder: [Int] { self.prover.order }

    package var proofSecret: Secret? { self.secret(self.prover.order[0]) }
    package var proofAcceptedAt: WallTime? { self.prover.acceptedAt }

    /// The secret that one of ``proofOrder`` is; `nil` where it is none.
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
    ///   - issuer: who issued the refresh token; `nil`: whoever is asked now.
    ///   - proof: one of ``proofOrder``; `nil`: the first of them.
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

    /// - Parameter proof: one of ``proofOrder``; `nil`: the first of them.
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

    /// - Parameter makeRequest: called when it is known where it goes, with what is signed for it alone; `nil` where it could
    ///   not be signed.
    private func ask(
        _ message: Logger.Message,
        _ issuer: TokenIssuer?,
        _ proof: Int?,
        _ mayStillSend: @escaping @Sendable () -> Bool,
        makeRequest: (ClientRegistration, ProviderURL, WallTime) -> FormRequest?,
        meaning: (TokenVerdict) -> TokenVerdict
    ) async -> TokenVerdict {
        guard let endpoint = try? await self.metadata.tokenEndpoint() else { return .notSent(.discoveryFailed) }
        if let issuer {
            // Who has decided on this did not know where it would go.
            guard issuer.isSettled else { return .notSent(.discoveryFailed) }
            guard issuer.match(self.settings.issuer(naming: endpoint)) == .same else { return .notSent(.endpointMoved) }
        }
        let proof = proof ?? self.prover.order[0]
        let signedAt = self.clock.corrected(self.now())
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
        let now = self.now()
        let verdict = meaning(self.classifier.tokenVerdict(on: outcome, now: now))

        if case .success = verdict {
            if self.prover.worked(proof, at: now) {
                self.logger.notice(
                    "a provider takes another of the client's secrets than before",
                    metadata: ["client.proof": .stringConvertible(proof + 1)]
                )
            }
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

    /// - Parameter issuer: who issued the token; `nil`: whoever is asked now.
    package func revoke(_ token: Secret, of issuer: TokenIssuer?, kind: RevocableToken) async -> RevocationVerdict {
        let endpoint: ProviderURL
        var tokenEndpoint: ProviderURL
        do throws(MetadataSource.Unavailable) {
            guard let named = try await self.metadata.revocationEndpoint() else { return .unsupported }
            (endpoint, tokenEndpoint) = (named, named)
            // Where proofs are signed it is for that one; and an issuer that has moved its tokens elsewhere has no say in those
            // of before.
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
        let place = ClientProver.RevocationPlace(
            endpoint: endpoint,
            tokenEndpoint: tokenEndpoint,
            issuer: self.settings.issuerName
        )
        var verdict = RevocationVerdict.unreachable(.signingFailed)
        // A revocation spends nothing: whichever proof is taken will do.
        for proof in self.prover.order {
            for audience in [ClientProver.Audience.revocation(place), .own(endpoint)] {
                // Some servers want each endpoint's own URL as the audience, which signed proofs alone have.
                if case .own = audience {
                    let first = self.prover.audience(proof, .revocation(place))
                    guard case .clientRefused = verdict, let first, first != endpoint.text else { break }
                }
                let now = self.clock.corrected(self.now())
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

    /// Whether a token that is perhaps still good may go there: where the configuration says so, or to the issuer or the token
    /// endpoint. Metadata that somebody has got hold of could name a server of theirs.
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

    /// Finds out what it must know to revoke, where that is not known. Sends no token.
    package func discover() async { _ = try? await self.metadata.revocationEndpoint() }

    package func locate() async { _ = try? await self.metadata.tokenEndpoint() }

    package func doubt() { self.metadata.doubt() }

    /// What its issuer says when it is asked now. Sends no token.
    package func survey() async -> MetadataFinding { await self.metadata.survey() }

    /// Lets go of all connections. Exchanges under way end without an answer, later ones with `shut_down`.
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

    private func log(
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
    /// Whether this is what an endpoint looks like that is no longer there.
    fileprivate var hintsThatEndpointMoved: Bool {
        switch self {
        case .notSent(let reason): [.nameUnresolved, .connectFailed, .tlsFailed].contains(reason)
        case .broken: false
        case .responded(let answer): (300..<400).contains(answer.status) || [404, 410].contains(answer.status)
        }
    }
}
