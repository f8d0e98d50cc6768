/// How the gateway proves to a provider which client it is (RFC 6749 §2.3).
package enum ClientAuthentication: String, Sendable, CaseIterable {
    /// Id and secret in an `Authorization: Basic` field.
    case basic = "client_secret_basic"
    /// Id and secret in the request's form.
    case post = "client_secret_post"
    /// An assertion that a key of the client's has signed (RFC 7523 §2.2).
    case privateKeyJWT = "private_key_jwt"
    /// The certificate that the connection is made with (RFC 8705 §2.1).
    case tlsClientAuth = "tls_client_auth"
    /// Only the id: a public client.
    case none
}
