/// Where a store's keys come from.
package protocol KeyRingSource: Sendable {
    /// The keys that are there; `nil` where none have been made yet.
    func existing() throws(KeyRingError) -> KeyRing?

    /// Makes the first key, for a store that holds nothing yet; of several processes all get the same.
    ///
    /// - Throws: ``KeyRingError/Code/missing`` where keys must be given.
    func make() throws(KeyRingError) -> KeyRing

    /// How messages name it, such as a path.
    var name: String { get }

    /// Changes with what ``existing()`` gives; `nil` where that never changes, or there is nothing.
    var revision: KeyRingRevision? { get }
}

extension KeyRingSource {
    package var revision: KeyRingRevision? { nil }
}
