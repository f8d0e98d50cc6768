internal import ProviderClient
internal import Settings
internal import TokenModel
internal import TokenRefresh

extension MintGrant {
    /// The grant that mints an account's tokens; `nil` if they come from a refresh token.
    init?(_ account: AccountSettings) throws(StartError) {
        switch account.grant {
        case .refreshToken:
            return nil
        case .clientCredentials:
            self = .clientCredentials
        case .password:
            guard let owner = account.owner else { return nil }
            self = .password(username: owner.username.value, password: owner.password.value)
        case .jwtBearer:
            guard let assertion = account.assertion else { return nil }
            self = .jwtBearer(
                GrantAssertion(
                    issuer: assertion.issuer,
                    subject: assertion.subject,
                    audience: assertion.audience,
                    key: try AssertionKey(assertion.key, for: "account \(account.id)")
                )
            )
        }
    }
}

extension AccountGrant {
    init(_ grant: AccountSettings.Grant) {
        self =
            switch grant {
            case .refreshToken: .refreshToken
            case .clientCredentials: .clientCredentials
            case .password: .password
            case .jwtBearer: .jwtBearer
            }
    }
}
