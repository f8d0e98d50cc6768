internal import Logging
internal import OAuth
internal import Synchronization
internal import TokenModel

/// Fetches a provider's public keys and keeps them for a while.
///
/// All callers share one fetch. A failed fetch is not kept. A provider that changes its keys signs with one that is not in
/// the set yet, so the set is fetched again for a key that it does not have; at most once a minute, because a forged token
/// can name any key.
final class KeySetSource: Sendable {
    struct Unavailable: Error {
        /// Whether nothing is there any more: the issuer's metadata may name another address.
        var hasMoved = false
    }

    private typealias Question = Task<Result<KeySet, Unavailable>, Never>

    private struct State {
        /// Where the keys are from.
        var address: ProviderURL?
        var keys: KeySet?
        var fetchedAt: BootInstant?
        /// When they were last fetched for a key that they did not have.
        var renewedAt: BootInstant?
        /// Whether the fetch in progress is for a key that was missing.
        var isRenewal = false
        /// The fetch in progress.
        var question: Question?
    }

    /// A key that the provider has withdrawn must stop counting.
    private static let lifetime = Duration.seconds(600)
    private static let renewalInterval = Duration.seconds(60)

    private let state = Mutex(State())
    private let connector: ProviderConnector
    private let timepiece: Timepiece
    private let logger: Logger

    init(over connector: ProviderConnector, timepiece: Timepiece, logger: Logger) {
        self.connector = connector
        self.timepiece = timepiece
        self.logger = logger
    }

    /// The keys; fetched if they are unknown or too old.
    func keys(at address: ProviderURL) async throws(Unavailable) -> KeySet {
        let now = self.timepiece.now.boot
        return try await self.keys(at: address) { state in
            guard let fetchedAt = state.fetchedAt else { return true }
            return fetchedAt.duration(to: now) >= Self.lifetime
        }
    }

    /// The keys after a key was missing; fetched again unless that has just happened.
    func renewedKeys(at address: ProviderURL) async throws(Unavailable) -> KeySet {
        let now = self.timepiece.now.boot
        return try await self.keys(at: address) { state in
            if let renewedAt = state.renewedAt, renewedAt.duration(to: now) < Self.renewalInterval { return false }
            // A fetch that fails says nothing about the key, and the next caller may ask again.
            state.isRenewal = true
            return true
        }
    }

    private func keys(
        at address: ProviderURL,
        mustFetch: (inout State) -> Bool
    ) async throws(Unavailable) -> KeySet {
        let question: Question? = self.state.withLock { state in
            if state.address != address { state = State(address: address) }
            if let question = state.question { return question }
            guard mustFetch(&state) || state.keys == nil else { return nil }
            // The state owns this task until it ends, so a cancelled caller does not affect the others.
            let question = Question { await self.ask(address) }
            state.question = question
            return question
        }
        if let question { return try await question.value.get() }
        guard let keys = self.state.withLock({ $0.keys }) else { throw Unavailable() }
        return keys
    }

    private func ask(_ address: ProviderURL) async -> Result<KeySet, Unavailable> {
        let outcome = await self.connector.get(
            address.text,
            limit: KeySet.documentLimit,
            deadline: self.connector.deadline()
        )
        let keys: KeySet? = if case .responded(let answer) = outcome { KeySet(answer) } else { nil }
        let now = self.timepiece.now.boot
        self.state.withLock { state in
            // The metadata may have named another address meanwhile.
            guard state.address == address else { return }
            state.question = nil
            defer { state.isRenewal = false }
            guard let keys else { return }
            if state.isRenewal { state.renewedAt = now }
            state.keys = keys
            state.fetchedAt = now
        }
        self.tell(outcome, of: address, isUsable: keys != nil)
        guard let keys else { return .failure(Unavailable(hasMoved: outcome.hintsThatEndpointMoved)) }
        return .success(keys)
    }

    private func tell(_ outcome: ExchangeOutcome, of address: ProviderURL, isUsable: Bool) {
        var facts: Logger.Metadata = ["url.full": "\(address.withoutQuery)"]
        switch outcome {
        case .notSent(let reason), .broken(let reason): facts["reason"] = "\(reason)"
        case .responded(let answer):
            facts["http.status"] = .stringConvertible(answer.status)
            facts["http.length"] = .stringConvertible(answer.body.count)
        }
        if isUsable {
            self.logger.debug("provider's keys were fetched", metadata: facts)
        } else {
            self.logger.warning("provider's keys can't be fetched, and no ID token can be validated", metadata: facts)
        }
    }
}
