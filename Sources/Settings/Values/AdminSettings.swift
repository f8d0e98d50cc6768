/// The control plane's listeners.
package struct AdminSettings: Equatable, Sendable {
    package let address: ListenerAddress
    /// What operators are shown over TCP; `nil`: nothing, they speak plain HTTP.
    package let tls: CertificateSettings?
    /// The file with the tokens that operators present; made at first start when it is missing.
    package let tokenFile: String
    /// The path of a link to the latest process's Unix socket, where its own user and root need no token.
    package let socket: String
}
