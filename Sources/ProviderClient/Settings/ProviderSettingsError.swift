/// The reason that a provider's settings can't be used. Two errors are equal when their codes are equal.
package struct ProviderSettingsError: Error, Sendable {
    /// What is wrong with it.
    package enum Code: Sendable, CaseIterable {
        /// The file of trust roots can't be read, or holds no certificate.
        case trustRootsUnreadable
        /// The client's certificate or its key can't be used.
        case identityUnusable
    }

    /// Decides equality.
    package let code: Code
    /// For the operator: what failed, on what, and what would help.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ProviderSettingsError: Equatable {
    package static func == (left: ProviderSettingsError, right: ProviderSettingsError) -> Bool {
        left.code == right.code
    }
}
