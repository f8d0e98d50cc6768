internal import OAuth
internal import TokenModel

/// Why a sign-in brought no tokens. The raw values of the codes are those of `error.code` in the admin API.
package struct SignInFailure: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// The person, or the provider on their behalf, said no.
        case accessDenied = "access_denied"
        /// Another error in the provider's answer to the browser.
        case providerError = "provider_error"
        /// The answer lacks the `iss` that the provider promises.
        case issuerMissing = "iss_missing"
        /// The answer is another issuer's.
        case issuerDiffers = "iss_differs"
        case codeRefused = "code_refused"
        /// The provider may have issued tokens, and its answer did not arrive or can't be read.
        case answerLost = "answer_lost"
        case providerUnreachable = "provider_unreachable"
        /// The provider refuses the client.
        case providerConfig = "provider_config"
        case refreshTokenMissing = "no_refresh_token"
        case idTokenMissing = "id_token_missing"
        case idTokenInvalid = "id_token_invalid"
        /// Somebody else signed in than before.
        case subjectDiffers = "subject_differs"
        case killed
        /// The account, or its provider, was changed or removed meanwhile.
        case notConfigured = "not_configured"
        case notStored = "not_stored"
        case auditUnavailable = "audit_unavailable"
        /// The process that was to get the tokens has ended.
        case interrupted
        case expired
    }

    package let code: Code
    /// For the operator: what failed and what would help. Never a text of the provider's beyond its error code.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension SignInFailure {
    /// The provider's error instead of a code (RFC 6749 §4.1.2.1).
    static func refusal(_ reason: VerdictReason?) -> SignInFailure {
        guard reason?.rawValue == "access_denied" else {
            return SignInFailure(
                .providerError,
                "the provider answered the sign-in with \(reason?.rawValue ?? "an error")"
            )
        }
        return SignInFailure(.accessDenied, "the sign-in was denied at the provider (access_denied)")
    }

    static let issuerMissing = SignInFailure(
        .issuerMissing,
        "the answer does not say which issuer it is of (iss), although the provider promises that; nothing was sent to anybody"
    )
    static let issuerDiffers = SignInFailure(
        .issuerDiffers,
        "the answer is of another issuer than the one that was asked (iss); nothing was sent to anybody"
    )
    static let refreshTokenMissing = SignInFailure(
        .refreshTokenMissing,
        "the provider gave no refresh token: many give one only for the scope offline_access, or with login.extra or "
            + "login.prompt of the provider's documentation"
    )
    static let idTokenMissing = SignInFailure(
        .idTokenMissing,
        "the provider gave no ID token, although the scopes have openid"
    )
    static let expired = SignInFailure(.expired, "the sign-in was not completed in time; begin another one")
    static let interrupted = SignInFailure(
        .interrupted,
        "the gateway that was to get the tokens has stopped before it had them; sign in again"
    )

    /// The verdict on a token request that brought no tokens; `nil` for one that did.
    init?(_ verdict: TokenVerdict) {
        let word = verdict.reason.map { " (\($0))" } ?? ""
        switch verdict {
        case .success: return nil
        case .rotated, .ambiguous:
            self.init(
                .answerLost,
                "the provider's answer with the tokens did not come or can't be read\(word); sign in again"
            )
        case .dead, .conflict, .refused:
            self.init(.codeRefused, "the provider refused the code\(word); sign in again")
        case .config, .accountConfig:
            self.init(
                .providerConfig,
                "the provider refuses this client\(word): check client_id, client_secret, client_auth and what the client may do"
            )
        case .notSent(.endpointMoved): self = .otherProvider
        case .throttled, .notSent:
            self.init(.providerUnreachable, "the provider's token endpoint could not be asked\(word); sign in again")
        case .notProvider:
            self.init(
                .providerConfig,
                "what answers at the token endpoint is not the provider's token endpoint\(word); check issuer or token_endpoint"
            )
        }
    }
}

/// Why a request about a sign-in is refused. Two errors are equal if their codes are equal.
package struct SignInError: Error, Sendable {
    package enum Code: Sendable {
        /// The answer is not one to this sign-in. The sign-in still waits.
        case invalidAnswer
        /// The answer is the right one, from another browser than the one that began. The sign-in still waits.
        case anotherBrowser
        /// The redirect URI is not the configured one.
        case invalidRedirectURI
        case unknownAccount
        case unknownSignIn
        /// It can't be done, or not any more.
        case conflict
        case providerRefused
        case providerUnreachable
        case storeLost
        /// The account's record can't be read.
        case unreadable
    }

    package let code: Code
    /// For the operator: what failed, on which object, and what would help.
    package let message: String
    /// The redirect URI that is configured.
    package let expected: String?

    package init(_ code: Code, _ message: String, expected: String? = nil) {
        self.code = code
        self.message = message
        self.expected = expected
    }
}

extension SignInError: Equatable {
    package static func == (left: SignInError, right: SignInError) -> Bool { left.code == right.code }
}
