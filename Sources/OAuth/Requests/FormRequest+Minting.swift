package import TokenModel

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
