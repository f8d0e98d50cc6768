package import TokenModel

/// Whether this process can send requests to a provider.
package enum ProviderAvailability: Equatable, Sendable {
    /// Nothing keeps requests from the provider.
    case answering
    /// The provider refuses the client and is asked again at `retryAt`; `nil` while a probe is in progress.
    case refusesClient(retryAt: BootInstant?)
    /// The provider failed five times in a row and is asked again at `retryAt`; `nil` while a probe is in progress.
    case failing(retryAt: BootInstant?)
    /// Like ``failing(retryAt:)``, but the last response came from another server in the provider's place.
    case notProvider(retryAt: BootInstant?)
}

extension ProviderAvailability {
    /// The availability in one word, for operators.
    package enum Word: String, Sendable {
        case answering
        case refusesClient = "refuses_client"
        case failing
        case notProvider = "not_provider"
    }

    package var word: Word {
        switch self {
        case .answering: .answering
        case .refusesClient: .refusesClient
        case .failing: .failing
        case .notProvider: .notProvider
        }
    }

    /// When the provider is asked again; `nil` if nothing keeps requests from it or a probe is in progress.
    package var retryAt: BootInstant? {
        switch self {
        case .answering: nil
        case .refusesClient(let retryAt), .failing(let retryAt), .notProvider(let retryAt): retryAt
        }
    }
}
