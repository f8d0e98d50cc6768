package import TokenModel

/// An entry of a log as this host keeps it beside the store.
package struct KeptEntry: Equatable, Sendable {
    /// Where it stands in the store's log.
    package let number: UInt64
    /// The entry's own, whatever its number: what tells two entries apart.
    package let id: String
    package let bytes: Secret

    package init(number: UInt64, id: String, bytes: Secret) {
        self.number = number
        self.id = id
        self.bytes = bytes
    }
}
