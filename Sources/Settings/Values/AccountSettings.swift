package import TokenModel

/// One authorization at a provider.
package struct AccountSettings: Equatable, Sendable {
    /// How new tokens come about (RFC 6749 §1.3).
    package enum Grant: String, Sendable, CaseIterable {
        /// From a stored refresh token; the first arrives by import.
        case refreshToken = "refresh_token"
        /// In the client's own name, when one is needed.
        case clientCredentials = "client_credentials"
        /// By a sign-in with the owner's name and password.
        case password
        /// For an assertion of somebody the provider trusts.
        case jwtBearer = "jwt-bearer"
    }

    /// What the grant `password` signs in with.
    package struct Owner: Equatable, Sendable {
        package let username: ClientSecret
        package let password: ClientSecret
    }

    /// What the grant `jwt-bearer` presents.
    package struct Assertion: Equatable, Sendable {
        package let issuer: String
        /// `nil`: nobody is named.
        package let subject: String?
        /// `nil`: the token endpoint.
        package let audience: String?
        package let key: SigningKeySettings
    }

    package let id: AccountID
    package let provider: ProviderID
    package let grant: Grant
    /// Always there for ``Grant/password``.
    package let owner: Owner?
    /// Always there for ``Grant/jwtBearer``.
    package let assertion: Assertion?
    /// What to ask for at each refresh; empty: what was granted.
    package let scopes: [String]
}
