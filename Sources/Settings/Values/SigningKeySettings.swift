package import OAuth
package import TokenModel

/// A private key that signs assertions.
package struct SigningKeySettings: Equatable, Sendable {
    /// The absolute path of a PEM file.
    package let file: String
    /// What stands in it.
    package let pem: Secret
    package let algorithm: SigningAlgorithm
    /// What the provider knows the key by; `nil`: it knows one only.
    package let keyID: String?
}
