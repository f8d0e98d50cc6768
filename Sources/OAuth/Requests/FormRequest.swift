internal import TextCoding
package import TokenModel

/// A POST to a provider: its `Authorization` field and its body, without its destination.
package struct FormRequest: Equatable, Sendable {
    /// `Content-Type` of every such request.
    package static let contentType = "application/x-www-form-urlencoded"
    /// `Accept` of every request to a provider. Without it some respond with a form.
    package static let accept = "application/json"

    /// The value of the `Authorization` field; `nil` if the client authenticates in another way.
    package let authorization: Secret?
    /// The body.
    package let form: Secret
}

extension FormRequest {
    /// A request for new tokens (RFC 6749 §6).
    ///
    /// - Parameter scopes: If empty, the parameter is omitted, which requests the scopes granted before.
    package static func refresh(
        _ refreshToken: Secret,
        scopes: [String],
        parameters: TokenParameters,
        client: ClientRegistration
    ) -> FormRequest {
        var form = FormEncoding()
        form.add("grant_type", "refresh_token")
        form.add("refresh_token", refreshToken)
        return Self.tokenRequest(form, scopes, parameters, client)
    }

    /// Adds the parameters that all token requests have after the grant.
    ///
    /// - Parameter client: `nil` names no client.
    static func tokenRequest(
        _ form: consuming FormEncoding,
        _ scopes: [String],
        _ parameters: TokenParameters,
        _ client: ClientRegistration?
    ) -> FormRequest {
        if !scopes.isEmpty { form.add("scope", scopes.joined(separator: " ")) }
        client?.addCredentials(to: &form)
        for parameter in parameters.pairs { form.add(parameter.name, parameter.value) }
        return FormRequest(authorization: client?.authorization, form: form.finish())
    }

    /// A request to revoke a token (RFC 7009 §2.1).
    package static func revocation(
        of token: Secret,
        kind: RevocableToken,
        client: ClientRegistration
    ) -> FormRequest {
        var form = FormEncoding()
        form.add("token", token)
        form.add("token_type_hint", kind.rawValue)
        client.addCredentials(to: &form)
        return FormRequest(authorization: client.authorization, form: form.finish())
    }
}

/// The kind of token to revoke. The raw values are those of `token_type_hint` (RFC 7009 §2.1).
package enum RevocableToken: String, CaseIterable, Sendable {
    case accessToken = "access_token"
    case refreshToken = "refresh_token"
}

/// Parameters that the configuration adds to each token request, such as `audience` or `resource`.
package struct TokenParameters: Equatable, Sendable {
    /// A parameter that may not be added.
    package struct Reserved: Error, Equatable {
        /// The parameter's name.
        package let name: String
    }

    /// No parameters.
    package static let none = TokenParameters()

    let pairs: [Pair]

    struct Pair: Equatable {
        let name: String
        let value: String
    }

    private init() { self.pairs = [] }

    init(pairs: [Pair]) { self.pairs = pairs }

    /// - Throws: ``Reserved`` for a name that the request itself sets. With two values the provider would choose which
    ///   one counts.
    package init(_ parameters: [String: String]) throws(Reserved) {
        // Sort, so that the same configuration always sends the same bytes.
        let sorted = parameters.sorted { $0.key < $1.key }
        for (name, _) in sorted where Self.isReserved(name) || name.isEmpty { throw Reserved(name: name) }
        self.pairs = sorted.map { Pair(name: $0.key, value: $0.value) }
    }

    /// Whether the request itself sets the parameter `name`.
    package static func isReserved(_ name: String) -> Bool { Self.reserved.contains(name) }

    private static let reserved: Set<String> = [
        "grant_type", "refresh_token", "scope", "client_id", "client_secret", "client_assertion",
        "client_assertion_type", "assertion", "code", "code_verifier", "device_code", "username", "password",
    ]
}

/// Token requests without a refresh token.
extension FormRequest {
    /// A request for an access token in the client's own name (RFC 6749 §4.4.2).
    ///
    /// - Parameter scopes: If empty, the parameter is omitted, and the provider chooses the scopes.
    package static func clientCredentials(
        scopes: [String],
        parameters: TokenParameters,
        client: ClientRegistration
    ) -> FormRequest {
        var form = FormEncoding()
        form.add("grant_type", "client_credentials")
        return Self.tokenRequest(form, scopes, parameters, client)
    }

    /// A request with the name and password of the account's owner (RFC 6749 §4.3.2).
    package static func password(
        _ password: Secret,
        of username: Secret,
        scopes: [String],
        parameters: TokenParameters,
        client: ClientRegistration
    ) -> FormRequest {
        var form = FormEncoding()
        form.add("grant_type", "password")
        form.add("username", username)
        form.add("password", password)
        return Self.tokenRequest(form, scopes, parameters, client)
    }

    /// A request with a signed JWT as the grant (RFC 7523 §2.1). A client without credentials is not named: the JWT
    /// identifies its signer.
    package static func jwtBearer(
        _ assertion: Secret,
        scopes: [String],
        parameters: TokenParameters,
        client: ClientRegistration
    ) -> FormRequest {
        var form = FormEncoding()
        form.add("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
        form.add("assertion", assertion)
        return Self.tokenRequest(form, scopes, parameters, client.authentication == .none ? nil : client)
    }
}

/// Martlet as a client of one provider: its identifier and how it authenticates (RFC 6749 §2).
package struct ClientRegistration: Equatable, Sendable {
    /// How the client authenticates. The names are those of `token_endpoint_auth_methods_supported` (RFC 8414 §2).
    package enum Authentication: Equatable, Sendable {
        /// Identifier and secret in the `Authorization` field (RFC 6749 §2.3.1).
        case clientSecretBasic(Secret)
        /// Identifier and secret in the form.
        case clientSecretPost(Secret)
        /// A JWT that the client has signed for this one request, in the form (RFC 7523 §2.2).
        case clientAssertion(Secret)
        /// The identifier in the form. The certificate of the connection authenticates the client (RFC 8705 §2.1).
        case tlsClientAuth
        /// A public client: only the identifier, in the form (RFC 6749 §3.2.1).
        case none
    }

    /// The client identifier (RFC 6749 §2.2).
    package let clientID: String
    /// How the client authenticates.
    package let authentication: Authentication

    package init(clientID: String, authentication: Authentication) {
        self.clientID = clientID
        self.authentication = authentication
    }
}

extension ClientRegistration {
    /// The value of the `Authorization` field; `nil` if the client authenticates in another way.
    ///
    /// Identifier and secret are form-encoded before a colon joins them, so that neither can contain a colon.
    var authorization: Secret? {
        guard case .clientSecretBasic(let secret) = self.authentication else { return nil }
        var credentials: [UInt8] = []
        for byte in self.clientID.utf8 { PercentCoding.appendToForm(byte, into: &credentials) }
        credentials.append(UInt8(ascii: ":"))
        secret.withUnredacted { secret in
            for index in secret.indices { PercentCoding.appendToForm(secret[index], into: &credentials) }
        }
        return Secret(Array("Basic ".utf8) + Base64.encode(credentials))
    }

    /// Adds the client's parameters to the form.
    func addCredentials(to form: inout FormEncoding) {
        switch self.authentication {
        case .clientSecretBasic:
            break
        case .clientSecretPost(let secret):
            form.add("client_id", self.clientID)
            form.add("client_secret", secret)
        case .clientAssertion(let assertion):
            form.add("client_id", self.clientID)
            form.add("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            form.add("client_assertion", assertion)
        case .tlsClientAuth, .none:
            form.add("client_id", self.clientID)
        }
    }
}

/// Builds an `application/x-www-form-urlencoded` body (RFC 6749 Appendix B) in one buffer.
struct FormEncoding: ~Copyable {
    private var bytes: [UInt8] = []

    init() {
        // Enough for a long token and the other fields, so that the buffer never grows and leaves a copy of a token
        // behind.
        self.bytes.reserveCapacity(8 * 1024)
    }

    mutating func add(_ name: String, _ value: String) {
        self.addName(name)
        for byte in value.utf8 { PercentCoding.appendToForm(byte, into: &self.bytes) }
    }

    mutating func add(_ name: String, _ value: Secret) {
        self.addName(name)
        value.withUnredacted { value in
            for index in value.indices { PercentCoding.appendToForm(value[index], into: &self.bytes) }
        }
    }

    consuming func finish() -> Secret { Secret(self.bytes) }

    private mutating func addName(_ name: String) {
        if !self.bytes.isEmpty { self.bytes.append(UInt8(ascii: "&")) }
        for byte in name.utf8 { PercentCoding.appendToForm(byte, into: &self.bytes) }
        self.bytes.append(UInt8(ascii: "="))
    }
}
