package import TokenModel

/// What an operator gives to open a store.
package enum OfferedKey: Sendable {
    case passphrase(Secret)
    /// The text of a key file.
    case key(Secret)
}
