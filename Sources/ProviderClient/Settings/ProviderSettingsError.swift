/// Why a provider can't be talked to as configured. Equal when the codes are equal.
package struct ProviderSettingsError: Error, Sendable {
    /// What is wrong with it.
    package enum Code: Sendable, CaseIterable {
        /// The file of additional trust roots can't be read, or holds no certificate.
        case trustRootsUnreadable
        /// The certificate to be shown, or its key, can't be used.
        case identityUnusable
    }

    /// Decides equality.
    package let code: Code
    /// For the operator: what failed, on what, what would help.
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
