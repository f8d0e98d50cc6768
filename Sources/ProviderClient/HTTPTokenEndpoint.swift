package import Logging
package import NIOCore
internal import NIOSSL
package import OAuth
internal import Synchronization
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
    package let binding: EndpointBinding
    package let timeout: Duration

    private let settings: ProviderSettings
    private let connector: ProviderConnector
    private let metadata: MetadataSource
    private let classifier: AnswerClassifier
    private let now: @Sendable () -> WallTime
    private let logger: Logger
    /// Whether the provider's clock was told to be off, so that it is told once.
    private let clockIsOff = Mutex(false)

    /// - Parameters:
    ///   - group: The event loops its connections live on.
    ///   - now: The wall clock; only for expiries that a provider gives as a date.
    /// - Throws: ``ProviderSettingsError/Code/trustRootsUnreadable``
    package init(
        _ settings: ProviderSettings,
        on group: any EventLoopGroup,
        now: @escaping @Sendable () -> WallTime,
        logger: Logger
    ) throws(ProviderSettingsError) {
        var logger = logger
        logger[metadataKey: "provider.name"] = "\(settings.name)"
        let connector = ProviderConnector(
            on: group,
            timeout: settings.timeout,
            trustRoots: try Self.certificates(settings.trustRoots)
        )
        self.binding = settings.binding
        self.timeout = settings.timeout
        self.settings = settings
        self.connector = connector
        self.metadata = MetadataSource(settings, over: connector, logger: logger)
        self.classifier = AnswerClassifier(rules: settings.rules)
        self.now = now
        self.logger = logger
    }

    package func redeem(
        _ refreshToken: Secret,
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        let request = FormRequest.refresh(
            refreshToken,
            scopes: scopes,
            parameters: self.settings.tokenParameters,
            client: self.settings.client
        )
        return await self.ask(request, "token endpoint was asked to refresh", mayStillSend) { $0 }
    }

    package func mint(
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        let request = FormRequest.clientCredentials(
            scopes: scopes,
            parameters: self.settings.tokenParameters,
            client: self.settings.client
        )
        return await self.ask(request, "token endpoint was asked to mint", mayStillSend) { $0.ofMint }
    }

    private func ask(
        _ request: FormRequest,
        _ message: Logger.Message,
        _ mayStillSend: @escaping @Sendable () -> Bool,
        meaning: (TokenVerdict) -> TokenVerdict
    ) async -> TokenVerdict {
        guard let endpoint = try? await self.metadata.tokenEndpoint() else { return .notSent(.discoveryFailed) }
        let outcome = await self.connector.post(request, to: endpoint, mayStillSend: mayStillSend)
        let now = self.now()
        let verdict = meaning(self.classifier.tokenVerdict(on: outcome, now: now))

        if case .success = verdict {
            self.log(message, outcome, verdict.name, verdict.reason)
        } else {
            self.log("token endpoint gave no tokens", at: .warning, of: endpoint, outcome, verdict.name, verdict.reason)
        }
        self.watchClock(outcome, now: now)
        if outcome.hintsThatEndpointMoved { self.metadata.forget() }
        return verdict
    }

    package func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict {
        let endpoint: ProviderURL
        do throws(MetadataSource.Unavailable) {
            guard let named = try await self.metadata.revocationEndpoint() else { return .unsupported }
            endpoint = named
        } catch {
            return .unreachable(.discoveryFailed)
        }
        let request = FormRequest.revocation(of: token, kind: kind, client: self.settings.client)
        let outcome = await self.connector.post(request, to: endpoint, mayStillSend: { true })
        let verdict = self.classifier.revocationVerdict(on: outcome)

        self.log("revocation endpoint was asked to revoke", outcome, verdict.name, verdict.reason)
        if outcome.hintsThatEndpointMoved { self.metadata.forget() }
        return verdict
    }

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
        _ outcome: ExchangeOutcome,
        _ verdict: String,
        _ reason: VerdictReason?
    ) {
        var facts: Logger.Metadata = ["verdict": "\(verdict)"]
        if let account = ExchangeSubject.account.get() { facts["account.name"] = "\(account)" }
        if let endpoint { facts["url.full"] = "\(endpoint.withoutQuery)" }
        if let reason { facts["reason"] = "\(reason)" }
        if case .answered(let answer) = outcome {
            facts["http.status"] = "\(answer.status)"
            facts["http.length"] = "\(answer.body.count)"
        }
        self.logger.log(level: level, message, metadata: facts)
    }

    /// Says once when the provider's clock and ours part by more than a minute, and again after they had agreed.
    private func watchClock(_ outcome: ExchangeOutcome, now: WallTime) {
        guard case .answered(let answer) = outcome, let date = answer.date else { return }
        let difference = now.duration(to: date)
        let isOff = abs(difference.components.seconds) > 60
        let wasOff = self.clockIsOff.withLock { clockIsOff in
            defer { clockIsOff = isOff }
            return clockIsOff
        }
        guard isOff, !wasOff else { return }
        self.logger.warning(
            "provider's clock differs from ours by over a minute: one of them is wrong",
            metadata: ["clock.difference_seconds": "\(difference.components.seconds)"]
        )
    }
}

extension ExchangeOutcome {
    /// Whether this is what an endpoint looks like that is no longer there.
    fileprivate var hintsThatEndpointMoved: Bool {
        switch self {
        case .notSent(let reason): [.nameUnresolved, .connectFailed, .tlsFailed].contains(reason)
        case .broken: false
        case .answered(let answer): (300..<400).contains(answer.status) || [404, 410].contains(answer.status)
        }
    }
}
