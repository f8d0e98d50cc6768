package import TokenModel

/// What an operator gives to open a store.
package enum OfferedKey: Equatable, Sendable {
    case passphrase(Secret)
    /// The text of a key ring.
    case key(Secret)
}
