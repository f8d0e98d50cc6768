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
