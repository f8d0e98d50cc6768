/// The control plane's listener.
package struct AdminSettings: Equatable, Sendable {
    package let address: ListenerAddress
    /// The file with the tokens that operators present; made at first start when it is missing.
    package let tokenFile: String
}
