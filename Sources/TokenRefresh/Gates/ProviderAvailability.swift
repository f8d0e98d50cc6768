package import TokenModel

/// How a provider stands with this process.
package enum ProviderAvailability: Equatable, Sendable {
    /// Nothing keeps requests from it.
    case answering
    /// It refuses the client, and is asked again at that moment; `nil`: it is being asked now.
    case refusesClient(retryAt: BootInstant?)
    /// It failed five times in a row, and is asked again at that moment.
    case failing(retryAt: BootInstant?)
    /// The same, and what answered last was something else in its place.
    case notProvider(retryAt: BootInstant?)
}

extension ProviderAvailability {
    /// The same in one word, as operators are shown it.
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

    /// When it is asked again, where it is not asked now.
    package var retryAt: BootInstant? {
        switch self {
        case .answering: nil
        case .refusesClient(let retryAt), .failing(let retryAt), .notProvider(let retryAt): retryAt
        }
    }
}
