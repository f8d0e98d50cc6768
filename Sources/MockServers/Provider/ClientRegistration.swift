/// The one client this provider knows. The secret is part of the documented interface and guards nothing.
package enum ClientRegistration {
    package static let id = "mock-client"
    package static let secret = "mock-secret"
    /// Of every account that signs in.
    package static let password = "mock-password"
}
