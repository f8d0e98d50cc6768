package import TokenModel

/// One authorization at a provider.
package struct AccountSettings: Equatable, Sendable {
    /// How new tokens are obtained (RFC 6749 §1.3).
    package enum Grant: String, Sendable, CaseIterable {
        /// With a stored refresh token; the first one is imported.
        case refreshToken = "refresh_token"
        /// In the client's own name, whenever a token is needed.
        case clientCredentials = "client_credentials"
        /// With the resource owner's name and password.
        case password
        /// With an assertion from an issuer that the provider trusts.
        case jwtBearer = "jwt-bearer"
    }

    /// The credentials for the grant `password`.
    package struct Owner: Equatable, Sendable {
        package let username: ClientSecret
        package let password: ClientSecret
    }

    /// The assertion for the grant `jwt-bearer`.
    package struct Assertion: Equatable, Sendable {
        package let issuer: String
        /// `nil`: the assertion names no subject.
        package let subject: String?
        /// `nil`: the token endpoint.
        package let audience: String?
        package let key: SigningKeySettings
    }

    package let id: AccountID
    package let provider: ProviderID
    package let grant: Grant
    /// Never `nil` for ``Grant/password``.
    package let owner: Owner?
    /// Never `nil` for ``Grant/jwtBearer``.
    package let assertion: Assertion?
    /// The scopes to request at each refresh; empty: those already granted.
    package let scopes: [String]
}

/// Accounts that come and go at run time, which the configuration gives as one.
package struct AccountFamilySettings: Equatable, Sendable {
    package let family: AccountFamily
    package let provider: ProviderID
    /// The scopes to request at each refresh; empty: those already granted.
    package let scopes: [String]
    /// The most accounts that may exist at once.
    package let max: Int
}

extension GatewaySettings {
    /// The provider of each account and family.
    package var accountProviders: AccountMap<ProviderID> {
        AccountMap(
            self.accounts.map { ($0.id, $0.provider) },
            families: self.families.map { ($0.family, $0.provider) }
        )
    }
}
