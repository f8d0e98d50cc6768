package import TokenModel

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
