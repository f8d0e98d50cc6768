package import TokenModel

/// One authorization at a provider.
package struct AccountSettings: Equatable, Sendable {
    /// How new tokens come about (RFC 6749 §1.3).
    package enum Grant: String, Sendable, CaseIterable {
        /// From a stored refresh token; the first arrives by import.
        case refreshToken = "refresh_token"
        /// In the client's own name, when one is needed.
        case clientCredentials = "client_credentials"
    }

    package let id: AccountID
    package let provider: ProviderID
    package let grant: Grant
    /// What to ask for at each refresh; empty: what was granted.
    package let scopes: [String]
}
