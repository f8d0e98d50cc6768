package import OAuth
package import TokenModel

/// A provider as a sign-in sees it: where a person signs in, and what its answers are traded for, with one client
/// registration.
///
/// A call returns within the time limits of the provider's settings, for each exchange that it needs. None logs a code, a
/// token or an address with its query. Cancelling the calling task does not affect an exchange in progress: a code can be
/// redeemed once, and the response is the only copy of its tokens.
package protocol AuthorizationServer: Sendable {
    /// The issuer and the client of the tokens of a sign-in, as far as known now.
    var binding: EndpointBinding { get }

    /// The maximum duration of a token request, connecting included; at most 5 min.
    var answerTimeout: Duration { get }

    /// How a person can sign in here. Fetches the issuer's metadata, if it is unknown.
    func features() async throws(AuthorizationServerError) -> SignInFeatures

    /// The address that a person's browser opens. It contains the `state` of the request.
    ///
    /// Where the provider takes the request in advance (RFC 9126), it is sent there first, and the address only refers
    /// to it.
    func authorizationURL(_ request: AuthorizationRequest) async throws(AuthorizationServerError) -> String

    /// Redeems an authorization code (RFC 6749 §4.1.3). The provider sees it once, unless it refuses the client, which
    /// spends nothing: then the client's next proof is tried. A form that was not sent is tried three times.
    ///
    /// - Parameters:
    ///   - issuer: that of the code. If the token endpoint is not its any more, nothing is sent.
    ///   - verifier: that of the request's code challenge (RFC 7636 §4.5).
    ///   - redirectURI: that of the request.
    func redeem(
        _ code: Secret,
        of issuer: TokenIssuer,
        verifier: Secret,
        redirectURI: String
    ) async -> TokenVerdict

    /// Starts a sign-in on another device (RFC 8628 §3.1).
    ///
    /// - Parameters:
    ///   - scopes: if empty, the parameter is omitted, and the provider chooses the scopes.
    ///   - extra: parameters of the configuration.
    func startDevice(
        scopes: [String],
        extra: [String: String]
    ) async throws(AuthorizationServerError) -> DeviceAuthorization

    /// Asks for the tokens of a device code (RFC 8628 §3.4). As long as the person has not agreed, the verdict is
    /// ``OAuth/TokenVerdict/refused(_:)`` with the provider's code: `authorization_pending`, `slow_down`, `access_denied`
    /// or `expired_token`.
    ///
    /// - Parameter issuer: that of the code. If the token endpoint is not its any more, nothing is sent.
    func redeem(device code: Secret, of issuer: TokenIssuer) async -> TokenVerdict

    /// Validates an ID token (OpenID Connect Core 1.0 §3.1.3.7).
    ///
    /// - Parameter nonce: that of the request; `nil` if none was sent.
    /// - Returns: `sub`, the person's identifier at this issuer; 1 to 255 bytes.
    func subject(of idToken: Secret, nonce: String?) async throws(IDTokenError) -> String
}

/// How a person can sign in at a provider.
package struct SignInFeatures: Equatable, Sendable {
    /// Whether a browser can be sent there (RFC 6749 §3.1).
    package let hasAuthorizationEndpoint: Bool
    /// Where a browser is sent, as `scheme://host:port`; `nil` if there is no such place.
    package let authorizationOrigin: String?
    /// Whether a person can sign in on another device (RFC 8628).
    package let hasDeviceEndpoint: Bool
    /// Whether each authorization response carries `iss` (RFC 9207 §3).
    package let promisesIssuer: Bool
    /// The configured issuer, character by character; `nil` if the configuration names none.
    package let issuer: String?
    /// Whether ID tokens can be validated: the issuer and its keys are known.
    package let validatesIDTokens: Bool
    /// Whether the provider says that it does not take code challenges of method S256 (RFC 7636 §4.3).
    package let refusesS256: Bool

    package init(
        hasAuthorizationEndpoint: Bool,
        authorizationOrigin: String? = nil,
        hasDeviceEndpoint: Bool,
        promisesIssuer: Bool,
        issuer: String?,
        validatesIDTokens: Bool,
        refusesS256: Bool
    ) {
        self.hasAuthorizationEndpoint = hasAuthorizationEndpoint
        self.authorizationOrigin = authorizationOrigin
        self.hasDeviceEndpoint = hasDeviceEndpoint
        self.promisesIssuer = promisesIssuer
        self.issuer = issuer
        self.validatesIDTokens = validatesIDTokens
        self.refusesS256 = refusesS256
    }
}

/// Why a sign-in can't be started at a provider. Two errors are equal if their codes are equal.
package struct AuthorizationServerError: Error, Sendable {
    /// The kind of error.
    package enum Code: Sendable, CaseIterable {
        /// No response, or one of another server in the provider's place.
        case unreachable
        /// The provider rejected the request or the client.
        case refused
        /// The provider names no endpoint for such a sign-in.
        case notOffered
        /// The provider's response lacks what it should contain.
        case malformed
    }

    /// The kind of error, which decides equality.
    package let code: Code
    /// For the operator: what failed and what would help.
    package let message: String
    /// The provider's code or Martlet's own word; `nil` if the code of the error says everything.
    package let reason: VerdictReason?

    package init(_ code: Code, _ message: String, reason: VerdictReason? = nil) {
        self.code = code
        self.message = message
        self.reason = reason
    }
}

extension AuthorizationServerError: Equatable {
    package static func == (left: AuthorizationServerError, right: AuthorizationServerError) -> Bool {
        left.code == right.code
    }
}

/// Why an ID token is not accepted. Two errors are equal if their codes are equal.
package struct IDTokenError: Error, Sendable {
    /// The kind of error.
    package enum Code: Sendable, CaseIterable {
        /// Not a signed JWT with the claims that an ID token must have.
        case unreadable
        /// Not signed by the provider's keys, or with an algorithm that proves nothing.
        case untrusted
        /// Another issuer than the configured one.
        case issuerDiffers
        /// Not for this client.
        case audienceDiffers
        /// Not valid any more, or not yet.
        case expired
        /// Not the one that this sign-in asked for.
        case nonceDiffers
        /// The provider's keys can't be fetched, or it names none.
        case keysUnavailable
    }

    /// The kind of error, which decides equality.
    package let code: Code
    /// For the operator: what is wrong, without anything of the token.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension IDTokenError: Equatable {
    package static func == (left: IDTokenError, right: IDTokenError) -> Bool { left.code == right.code }
}
