/// How sign-ins behave, as `PUT /_control/sign_in` describes it. Without any rule the provider approves what is asked
/// for, and its answers are as the RFCs want them.
package struct SignInRules: Equatable, Sendable {
    /// Who signs in, whatever account the client names.
    package var account: String?

    /// The `sub` of ID tokens. Nil for the account's name.
    package var subject: String?

    /// Every sign-in ends with this error word.
    package var error: String?

    /// The description of ``error``, and of the error of a person who denies. It may contain markup.
    package var errorDescription: String?

    /// The `iss` of authorization responses (RFC 9207).
    package var issuer: ParameterFlaw?

    /// The `state` of authorization responses.
    package var state: ParameterFlaw?

    /// Granted instead of the requested scope.
    package var scope: String?

    /// Whether the tokens of a sign-in include a refresh token.
    package var isRefreshable = true

    package var idToken: IDTokenFlaw?
    package var metadata = Metadata()

    /// `/oauth/authorize` shows a page that asks, instead of approving at once.
    package var asksForConsent = false

    /// The minimum time between two polls with one device code.
    package var deviceInterval = DeviceCodes.interval

    /// How long a device code can be approved and redeemed.
    package var deviceLifetime = DeviceCodes.lifetime

    /// How many polls, from now on, are told to slow down, whenever they come.
    package var slowDowns = 0

    /// The wait before a token request of a sign-in is processed.
    package var tokenDelay = Duration.zero

    package init() {}

    /// An issuer that is not this provider.
    static let wrongIssuer = "https://wrong.example"

    /// A client or a value that nobody asked for.
    static let wrongValue = "wrong"

    /// What an authorization response carries where `value` would be right. Nil if it carries no such parameter.
    static func spoil(_ value: String?, with flaw: ParameterFlaw?, wrong: String) -> String? {
        switch flaw {
        case nil: value
        case .missing: nil
        case .wrong: wrong
        }
    }

    /// The refusal of a sign-in that the person, or this rule, does not approve.
    func denial(_ error: String?) -> GrantRefusal {
        GrantRefusal(
            error.map(GrantRefusal.Code.init(rawValue:)) ?? .accessDenied,
            self.errorDescription ?? "the sign-in was not approved"
        )
    }
}

extension SignInRules {
    /// What is wrong with a parameter of the authorization response.
    package enum ParameterFlaw: String, Sendable, Decodable {
        case missing
        case wrong
    }

    /// What is wrong with the ID tokens.
    package enum IDTokenFlaw: String, Sendable, Decodable {
        /// The token response has none.
        case missing

        /// Signed by another key under the published key's name.
        case foreignKey = "foreign_key"

        /// `alg` is `none`, and the signature is empty.
        case unsigned
        case wrongIssuer = "wrong_iss"
        case wrongAudience = "wrong_aud"
        case expired
        case wrongNonce = "wrong_nonce"
    }

    /// What the provider's metadata says of itself. The endpoints work even if the metadata does not name them.
    package struct Metadata: Equatable, Sendable {
        /// Names the endpoint for pushed authorization requests.
        package var namesPAR = true

        /// Authorization requests must be pushed. `/oauth/authorize` refuses others.
        package var requiresPAR = false

        /// Promises an `iss` in authorization responses. The promise does not change the responses.
        package var promisesIssuer = true

        /// Names the endpoint for device authorization.
        package var namesDevice = true

        package init() {}
    }
}
