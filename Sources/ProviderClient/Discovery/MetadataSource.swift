internal import Logging
package import OAuth
internal import Synchronization
internal import TokenModel

/// The endpoints of a provider, from the configuration or from the issuer's metadata, which is fetched on first use.
///
/// All callers share one fetch. A failed fetch is not kept, so the next caller fetches again.
final class MetadataSource: Sendable {
    struct Unavailable: Error {
        /// Whether the issuer was reached and has no document at all, so that another attempt changes nothing.
        var hasNoDocument = false
    }

    private typealias Question = Task<Result<ProviderMetadata, Unavailable>, Never>

    private enum State {
        case unknown
        case asking(Question)
        case known(ProviderMetadata)
    }

    /// The token endpoint that the issuer named last, and when. It is kept while the metadata is fetched again.
    private struct Finding {
        let tokenEndpoint: ProviderURL
        let foundAt: ContinuousClock.Instant
    }

    private let state: Mutex<State>
    private let last = Mutex<Finding?>(nil)
    /// `nil` if the configuration names the endpoints.
    private let issuer: ProviderIssuer?
    /// An endpoint named in the configuration takes precedence over the issuer's metadata.
    private let namedTokenEndpoint: ProviderURL?
    private let namedRevocationEndpoint: ProviderURL?
    private let allowCleartext: Bool
    private let connector: ProviderConnector
    private let logger: Logger

    init(_ settings: ProviderSettings, over connector: ProviderConnector, logger: Logger) {
        switch settings.endpoints {
        case .named(let metadata):
            self.state = Mutex(.known(metadata))
            self.issuer = nil
            self.namedTokenEndpoint = metadata.tokenEndpoint
            self.namedRevocationEndpoint = metadata.revocationEndpoint
        case .discovered(let issuer, let tokenEndpoint, let revocationEndpoint):
            self.state = Mutex(.unknown)
            self.issuer = issuer
            self.namedTokenEndpoint = tokenEndpoint
            self.namedRevocationEndpoint = revocationEndpoint
        }
        self.allowCleartext = settings.allowCleartext
        self.connector = connector
        self.logger = logger
        if self.revokes == false { self.tellThatNothingRevokes() }
    }

    /// Whether the provider has a revocation endpoint; `nil` while the issuer's metadata is unknown.
    var revokes: Bool? {
        if self.namedRevocationEndpoint != nil { return true }
        return self.state.withLock { state in
            if case .known(let metadata) = state { metadata.revocationEndpoint != nil } else { nil }
        }
    }

    /// The token endpoint that the issuer named last; `nil` if it has named none yet.
    var lastTokenEndpoint: ProviderURL? { self.last.withLock { $0?.tokenEndpoint } }

    /// Has the metadata fetched again before its next use, unless it was fetched within the last 60 s.
    func doubt() {
        let isOld = self.last.withLock { $0.map { .seconds(60) <= $0.foundAt.duration(to: .now) } ?? false }
        if isOld { self.forget() }
    }

    /// Fetches the issuer's metadata even if it is known.
    func survey() async -> MetadataFinding {
        guard let issuer = self.issuer else { return .notAsked }
        return await self.fetch(issuer)
    }

    /// The token endpoint. Returns at once if the endpoint is named or known.
    func tokenEndpoint() async throws(Unavailable) -> ProviderURL {
        if let endpoint = self.namedTokenEndpoint { return endpoint }
        return try await self.metadata().tokenEndpoint
    }

    /// Whether the configuration, and not the issuer, names the revocation endpoint.
    var isRevocationEndpointNamed: Bool { self.issuer == nil || self.namedRevocationEndpoint != nil }

    /// The revocation endpoint; `nil` if the provider has none. Returns at once if the endpoint is named or known.
    func revocationEndpoint() async throws(Unavailable) -> ProviderURL? {
        if let endpoint = self.namedRevocationEndpoint { return endpoint }
        return try await self.metadata().revocationEndpoint
    }

    /// What a sign-in needs to know. An issuer without a document is no fault if the configuration names the token
    /// endpoint: then the configuration says it all.
    func signInMetadata() async throws(Unavailable) -> ProviderMetadata {
        do throws(Unavailable) {
            return try await self.metadata()
        } catch {
            guard error.hasNoDocument, let tokenEndpoint = self.namedTokenEndpoint else { throw error }
            return ProviderMetadata(tokenEndpoint: tokenEndpoint, revocationEndpoint: self.namedRevocationEndpoint)
        }
    }

    private func metadata() async throws(Unavailable) -> ProviderMetadata {
        switch self.knowledge() {
        case .known(let metadata): metadata
        case .asking(let question): try await question.value.get()
        case .unknown: throw Unavailable()
        }
    }

    /// The current state. If nothing is known, a fetch has been started.
    private func knowledge() -> State {
        self.state.withLock { state in
            if case .unknown = state, let issuer = self.issuer {
                // The state owns this task until it ends. It is not part of any caller's task, so a cancelled caller
                // does not affect the others.
                state = .asking(Question { await self.ask(issuer) })
            }
            return state
        }
    }

    /// Has the metadata fetched again before its next use, because it seems to be out of date.
    func forget() {
        guard self.issuer != nil else { return }
        self.state.withLock { state in
            if case .known = state { state = .unknown }
        }
    }

    private func ask(_ issuer: ProviderIssuer) async -> Result<ProviderMetadata, Unavailable> {
        let finding = await self.fetch(issuer)
        self.tell(finding, of: issuer)
        guard case .found(let metadata, _, _) = finding else {
            self.state.withLock { $0 = .unknown }
            return .failure(Unavailable(hasNoDocument: finding.hasNoDocument))
        }
        self.last.withLock { $0 = Finding(tokenEndpoint: metadata.tokenEndpoint, foundAt: .now) }
        self.state.withLock { $0 = .known(metadata) }
        if self.revokes == false { self.tellThatNothingRevokes() }
        return .success(metadata)
    }

    private func fetch(_ issuer: ProviderIssuer) async -> MetadataFinding {
        let deadline = self.connector.deadline()
        var unusable: [MetadataFinding.Unusable] = []
        for address in issuer.metadataAddresses {
            switch await self.connector.get(address, deadline: deadline) {
            case .notSent(let reason), .broken(let reason):
                // The other address is at the same host, so it is not tried.
                return .unreachable(reason, at: address)
            case .responded(let answer):
                do throws(MetadataError) {
                    let metadata = try ProviderMetadata(answer, of: issuer, allowCleartext: self.allowCleartext)
                    return .found(metadata, at: address, after: unusable)
                } catch {
                    unusable.append(
                        MetadataFinding.Unusable(
                            address: address,
                            status: answer.status,
                            length: answer.body.count,
                            error: error,
                            issuer: error == .issuerDiffers ? ProviderMetadata.issuer(in: answer) : nil
                        )
                    )
                }
            }
        }
        return .unusable(unusable)
    }

    private func tell(_ finding: MetadataFinding, of issuer: ProviderIssuer) {
        switch finding {
        case .notAsked: return
        case .found(_, _, let unusable):
            // A missing document at one address is no fault if another address has one.
            for place in unusable { self.tell(place, of: issuer, at: place.error == .notFound ? .debug : .warning) }
        case .unusable(let unusable):
            for place in unusable { self.tell(place, of: issuer, at: .warning) }
        case .unreachable(let reason, let address):
            self.logger.warning(
                "provider metadata could not be fetched",
                metadata: ["url.full": "\(address)", "reason": "\(reason)"]
            )
        }
    }

    private func tell(_ place: MetadataFinding.Unusable, of issuer: ProviderIssuer, at level: Logger.Level) {
        var facts: Logger.Metadata = [
            "url.full": "\(place.address)",
            "http.status": .stringConvertible(place.status),
            "http.length": .stringConvertible(place.length),
            "reason": "\(place.error.rawValue)",
        ]
        if place.error == .issuerDiffers {
            facts["issuer.configured"] = "\(issuer.url.text)"
            facts["issuer.found"] = "\(place.issuer ?? "")"
        }
        self.logger.log(level: level, "provider metadata can't be used", metadata: facts)
    }

    private func tellThatNothingRevokes() {
        self.logger.warning(
            "a kill or a removal revokes nothing at this provider, which names no revocation endpoint: revocation_endpoint names one"
        )
    }
}

/// The result of fetching an issuer's metadata (RFC 8414 §3). It contains no token, and no token was sent for it.
package enum MetadataFinding: Equatable, Sendable {
    /// The configuration names no issuer.
    case notAsked
    /// A usable document, and the addresses tried before it that had none.
    case found(ProviderMetadata, at: String, after: [Unusable])
    /// The issuer's host could not be reached.
    case unreachable(VerdictReason, at: String)
    /// No address had a usable document.
    case unusable([Unusable])

    /// Whether every address responded that there is nothing.
    var hasNoDocument: Bool {
        guard case .unusable(let places) = self else { return false }
        return places.allSatisfy { [404, 410].contains($0.status) }
    }

    /// An address, and why its document can't be used.
    package struct Unusable: Equatable, Sendable {
        package let address: String
        /// The status code of the response.
        package let status: Int
        package let length: Int
        package let error: MetadataError
        /// The issuer that the document names, if it is another one.
        package let issuer: String?

        package init(address: String, status: Int, length: Int, error: MetadataError, issuer: String? = nil) {
            self.address = address
            self.status = status
            self.length = length
            self.error = error
            self.issuer = issuer
        }
    }
}
