internal import ProviderClient
internal import Synchronization
package import TokenModel

/// A provider as an operator is shown it.
package struct ProviderStatus: Equatable, Sendable {
    package let provider: ProviderID
    package let state: ProviderAvailability.Word
    /// When it is asked again; `nil` where nothing keeps requests from it, or one finds out now.
    package let retryAt: WallTime?
    /// Whether a kill revokes anything there; `nil` while nobody knows.
    package let revokes: Bool?

    package init(provider: ProviderID, state: ProviderAvailability.Word, retryAt: WallTime?, revokes: Bool? = nil) {
        self.provider = provider
        self.state = state
        self.retryAt = retryAt
        self.revokes = revokes
    }
}

extension RefreshEngine {
    /// The providers of the configuration that accounts are of.
    package var providerStatuses: [ProviderStatus] {
        let now = self.timepiece.now
        let endpoints = self.state.withLock { state in
            Dictionary(state.plans.values.map { ($0.provider, $0.endpoint) }) { first, _ in first }
        }
        return self.providers.sorted { $0.key < $1.key }.map { provider, availability in
            ProviderStatus(
                provider: provider,
                state: availability.word,
                retryAt: availability.retryAt.map { now.wall.advanced(by: max(now.boot.duration(to: $0), .zero)) },
                revokes: endpoints[provider]?.revokes
            )
        }
    }
}
