package import TokenModel

/// One of those who may use the gateway.
package struct CallerSettings: Equatable, Sendable {
    package let name: String
    /// The SHA-256 of each key that is taken, 32 bytes each; at least one where there is no other proof.
    package let keyDigests: [[UInt8]]
    package let certificate: CertificateNameSettings?
    package let peer: PeerSettings?
    /// Names of the routes it may use; `nil`: all.
    package let routes: [String]?
    /// Accounts it may use; `nil`: all.
    package let accounts: [AccountID]?
    /// Methods it may use, as they stand in a request; `nil`: all.
    package let methods: [String]?
}

extension CallerSettings {
    /// Whether a caller may be named so.
    package static func isName(_ text: String) -> Bool { (try? ConfiguredName.check(text)) != nil }
}
