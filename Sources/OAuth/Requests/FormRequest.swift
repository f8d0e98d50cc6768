package import TokenModel

/// A POST to a provider: what stands in its `Authorization` field and in its body. Where it goes is not its business.
package struct FormRequest: Equatable, Sendable {
    /// `Content-Type` of every one of them.
    package static let contentType = "application/x-www-form-urlencoded"
    /// `Accept` of every request to a provider; some answer with a form without it.
    package static let accept = "application/json"

    /// The value of the `Authorization` field, where the client proves itself there.
    package let authorization: Secret?
    /// The body.
    package let form: Secret
}

extension FormRequest {
    /// Asks for new tokens (RFC 6749 §6).
    ///
    /// - Parameter scopes: Empty leaves the parameter out: what was granted before.
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

    /// What all requests for tokens end with, behind the grant.
    ///
    /// - Parameter client: `nil` names none.
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

    /// Asks to make a token invalid (RFC 7009 §2.1).
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

/// Which of a grant's tokens is to be revoked; the raw values are those of `token_type_hint` (RFC 7009 §2.1).
package enum RevocableToken: String, CaseIterable, Sendable {
    case accessToken = "access_token"
    case refreshToken = "refresh_token"
}

/// Parameters the configuration adds to each token request, such as `audience` or `resource`.
package struct TokenParameters: Equatable, Sendable {
    /// A parameter that may not be added.
    package struct Reserved: Error, Equatable {
        /// The parameter's name.
        package let name: String
    }

    /// None.
    package static let none = TokenParameters()

    let pairs: [Pair]

    struct Pair: Equatable {
        let name: String
        let value: String
    }

    private init() { self.pairs = [] }

    /// - Throws: ``Reserved`` for a name the request itself decides: a second value of it would leave it to the
    ///   provider which of them counts.
    package init(_ parameters: [String: String]) throws(Reserved) {
        // In a fixed order, so that the same configuration always sends the same bytes.
        let sorted = parameters.sorted { $0.key < $1.key }
        for (name, _) in sorted where Self.isReserved(name) || name.isEmpty { throw Reserved(name: name) }
        self.pairs = sorted.map { Pair(name: $0.key, value: $0.value) }
    }

    /// Whether the request itself decides what stands under `name`.
    package static func isReserved(_ name: String) -> Bool { Self.reserved.contains(name) }

    private static let reserved: Set<String> = [
        "grant_type", "refresh_token", "scope", "client_id", "client_secret", "client_assertion",
        "client_assertion_type", "assertion", "code", "code_verifier", "device_code", "username", "password",
    ]
}

/// Requests that no refresh token pays for.
extension FormRequest {
    /// Asks for an access token in the client's own name (RFC 6749 §4.4.2).
    ///
    /// - Parameter scopes: Empty leaves the parameter out: what the provider grants by itself.
    package static func clientCredentials(
        scopes: [String],
        parameters: TokenParameters,
        client: ClientRegistration
    ) -> FormRequest {
        var form = FormEncoding()
        form.add("grant_type", "client_credentials")
        return Self.tokenRequest(form, scopes, parameters, client)
    }

    /// Signs in with the name and password of the account's owner (RFC 6749 §4.3.2).
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

    /// Presents a signed JWT as the grant (RFC 7523 §2.1). A client that proves itself by nothing is not named: whoever
    /// signed is known by the JWT.
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

/// Martlet as a client of one provider: its identifier and how it proves it (RFC 6749 §2).
package struct ClientRegistration: Equatable, Sendable {
    /// How the client proves itself; the names are those of `token_endpoint_auth_methods_supported` (RFC 8414 §2).
    package enum Authentication: Equatable, Sendable {
        /// Identifier and secret in the `Authorization` field (RFC 6749 §2.3.1).
        case clientSecretBasic(Secret)
        /// Identifier and secret in the form.
        case clientSecretPost(Secret)
        /// A JWT that the client has signed for this one request, in the form (RFC 7523 §2.2).
        case clientAssertion(Secret)
        /// The identifier in the form; the proof is the certificate that the connection was made with (RFC 8705 §2.1).
        case tlsClientAuth
        /// A public client: the identifier alone, in the form (RFC 6749 §3.2.1).
        case none
    }

    /// RFC 6749 §2.2
    package let clientID: String
    /// How it proves itself.
    package let authentication: Authentication

    package init(clientID: String, authentication: Authentication) {
        self.clientID = clientID
        self.authentication = authentication
    }
}

extension ClientRegistration {
    /// The value of the `Authorization` field; `nil` where the client proves itself in another way.
    ///
    /// Identifier and secret are form-encoded before they are joined by the colon, so that neither can hold one.
    var authorization: Secret? {
        guard case .clientSecretBasic(let secret) = self.authentication else { return nil }
        var credentials: [UInt8] = []
        for byte in self.clientID.utf8 { FormEncoding.append(byte, to: &credentials) }
        credentials.append(UInt8(ascii: ":"))
        secret.withUnredacted { secret in
            for index in secret.indices { FormEncoding.append(secret[index], to: &credentials) }
        }
        return Secret(Array("Basic ".utf8) + Base64.encode(credentials))
    }

    /// Adds what of the client belongs into the form.
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
