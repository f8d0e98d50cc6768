/// How the gateway proves to a provider which client it is (RFC 6749 §2.3).
package enum ClientAuthentication: String, Sendable, CaseIterable {
    /// Id and secret in an `Authorization: Basic` field.
    case basic = "client_secret_basic"
    /// Id and secret in the request's form.
    case post = "client_secret_post"
    /// Only the id: a public client.
    case none
}
