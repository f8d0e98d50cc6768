internal import Synchronization
package import TokenModel

/// A provider as an operator is shown it.
package struct ProviderStatus: Equatable, Sendable {
    package let provider: ProviderID
    package let state: ProviderStanding.Word
    /// When it is asked again; `nil` where nothing keeps requests from it, or one finds out now.
    package let retryAt: WallTime?

    package init(provider: ProviderID, state: ProviderStanding.Word, retryAt: WallTime?) {
        self.provider = provider
        self.state = state
        self.retryAt = retryAt
    }
}

extension RefreshEngine {
    /// The providers of the configuration that accounts are of.
    package var providerStatuses: [ProviderStatus] {
        let now = self.timepiece.now
        return self.providers.sorted { $0.key < $1.key }.map { provider, standing in
            ProviderStatus(
                provider: provider,
                state: standing.word,
                retryAt: standing.retryAt.map { now.wall.advanced(by: max(now.boot.duration(to: $0), .zero)) }
            )
        }
    }
}
