package import TokenModel

/// A secret that the gateway shows a provider, a client's or an account owner's, and where it came from.
package struct ClientSecret: Equatable, Sendable {
    package enum Origin: Equatable, Sendable {
        /// The absolute path of a file.
        case file(String)
        /// The name of an environment variable.
        case variable(String)
    }

    /// Never empty.
    package let value: Secret
    package let origin: Origin
}
