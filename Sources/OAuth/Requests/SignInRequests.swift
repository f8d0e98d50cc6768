package import TokenModel

/// What a sign-in posts to a provider.
extension FormRequest {
    /// A request for the tokens of an authorization code (RFC 6749 §4.1.3), with the verifier of its code challenge (RFC
    /// 7636 §4.5).
    ///
    /// - Parameter redirectURI: The one of the authorization request. A parameter of that name in `parameters`, which
    ///   some providers want with a refresh, is left out.
    package static func authorizationCode(
        _ code: Secret,
        redirectURI: String,
        verifier: Secret,
        parameters: TokenParameters,
        client: ClientRegistration
    ) -> FormRequest {
        var form = FormEncoding()
        form.add("grant_type", "authorization_code")
        form.add("code", code)
        form.add("redirect_uri", redirectURI)
        form.add("code_verifier", verifier)
        return Self.tokenRequest(form, [], parameters.without("redirect_uri"), client)
    }

    /// A request for a device code and a user code (RFC 8628 §3.1).
    ///
    /// - Parameter extra: Parameters of the configuration. Those that an authorization request reserves are left out.
    package static func deviceAuthorization(
        scopes: [String],
        extra: [String: String] = [:],
        client: ClientRegistration
    ) -> FormRequest {
        var form = FormEncoding()
        if !scopes.isEmpty { form.add("scope", scopes.joined(separator: " ")) }
        client.addNameAndCredentials(to: &form)
        for parameter in AuthorizationRequest.allowed(extra) { form.add(parameter.name, parameter.value) }
        return FormRequest(authorization: client.authorization, form: form.finish())
    }

    /// A request for the tokens of a device code (RFC 8628 §3.4).
    package static func deviceCode(
        _ code: Secret,
        parameters: TokenParameters,
        client: ClientRegistration
    ) -> FormRequest {
        var form = FormEncoding()
        form.add("grant_type", "urn:ietf:params:oauth:grant-type:device_code")
        form.add("device_code", code)
        return Self.tokenRequest(form, [], parameters, client)
    }

    /// A request that tells the provider the parameters of an authorization request before the browser is sent there
    /// (RFC 9126 §2.1).
    package static func pushedAuthorization(
        _ request: AuthorizationRequest,
        client: ClientRegistration
    ) -> FormRequest {
        var form = FormEncoding()
        client.addNameAndCredentials(to: &form)
        request.add(to: &form)
        return FormRequest(authorization: client.authorization, form: form.finish())
    }
}

extension ClientRegistration {
    /// Adds the client's parameters, with its identifier however it authenticates: it is a parameter of the authorization
    /// request too (RFC 6749 §4.1.1), and the form of a device's request might be empty without it.
    fileprivate func addNameAndCredentials(to form: inout FormEncoding) {
        if case .clientSecretBasic = self.authentication { form.add("client_id", self.clientID) }
        self.addCredentials(to: &form)
    }
}

extension TokenParameters {
    fileprivate func without(_ name: String) -> TokenParameters {
        TokenParameters(pairs: self.pairs.filter { $0.name != name })
    }
}
