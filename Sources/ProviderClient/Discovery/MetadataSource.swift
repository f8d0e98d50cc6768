internal import Logging
internal import OAuth
internal import Synchronization
internal import TokenModel

/// Knows where a provider's endpoints are: as configured, or as its issuer said when first asked.
///
/// Any number of callers share one question. A failed one is forgotten, so that the next caller asks again.
final class MetadataSource: Sendable {
    struct Unavailable: Error {}

    private typealias Question = Task<Result<ProviderMetadata, Unavailable>, Never>

    private enum State {
        case unknown
        case asking(Question)
        case known(ProviderMetadata)
    }

    private let state: Mutex<State>
    /// `nil` where the configuration names the endpoints.
    private let issuer: ProviderIssuer?
    /// What the configuration names stands before what the issuer says.
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
    }

    /// Where tokens are asked for; at once where it is named or known.
    func tokenEndpoint() async throws(Unavailable) -> ProviderURL {
        if let endpoint = self.namedTokenEndpoint { return endpoint }
        return try await self.metadata().tokenEndpoint
    }

    /// Where tokens are revoked, at once where it is named or known; `nil` where the provider has no such place.
    func revocationEndpoint() async throws(Unavailable) -> ProviderURL? {
        if let endpoint = self.namedRevocationEndpoint { return endpoint }
        return try await self.metadata().revocationEndpoint
    }

    private func metadata() async throws(Unavailable) -> ProviderMetadata {
        switch self.knowledge() {
        case .known(let metadata): metadata
        case .asking(let question): try await question.value.get()
        case .unknown: throw Unavailable()
        }
    }

    /// What is known now; where nothing is, the question has been put.
    private func knowledge() -> State {
        self.state.withLock { state in
            if case .unknown = state, let issuer = self.issuer {
                // Owned by the state until it has its answer, and no part of any caller's task: a caller that goes
                // away takes nothing from the others.
                state = .asking(Question { await self.ask(issuer) })
            }
            return state
        }
    }

    /// Asks again before the next use: what the issuer said seems to be out of date.
    func forget() {
        guard self.issuer != nil else { return }
        self.state.withLock { state in
            if case .known = state { state = .unknown }
        }
    }

    private func ask(_ issuer: ProviderIssuer) async -> Result<ProviderMetadata, Unavailable> {
        let result = await self.fetch(issuer)
        self.state.withLock { state in
            state =
                switch result {
                case .success(let metadata): .known(metadata)
                case .failure: .unknown
                }
        }
        return result
    }

    private func fetch(_ issuer: ProviderIssuer) async -> Result<ProviderMetadata, Unavailable> {
        let deadline = self.connector.deadline()
        for address in issuer.metadataAddresses {
            switch await self.connector.get(address, deadline: deadline) {
            case .notSent(let reason), .broken(let reason):
                self.logger.warning(
                    "provider metadata could not be fetched",
                    metadata: ["url.full": "\(address)", "reason": "\(reason)"]
                )
                // The other address is at the same host.
                return .failure(Unavailable())
            case .answered(let answer):
                do {
                    return .success(try ProviderMetadata(answer, of: issuer, allowCleartext: self.allowCleartext))
                } catch {
                    self.logger.warning(
                        "provider metadata can't be used",
                        metadata: [
                            "url.full": "\(address)",
                            "http.status": .stringConvertible(answer.status),
                            "http.length": .stringConvertible(answer.body.count),
                            "reason": "\(error.rawValue)",
                        ]
                    )
                }
            }
        }
        return .failure(Unavailable())
    }
}
