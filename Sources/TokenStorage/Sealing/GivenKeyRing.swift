/// Keys that were handed over, from an environment variable for instance: nothing is ever made.
package struct GivenKeyRing: KeyRingSource {
    private let keyRing: KeyRing
    package let name: String

    /// - Parameter name: how messages name the keys' origin.
    package init(_ keyRing: KeyRing, name: String) {
        self.keyRing = keyRing
        self.name = name
    }

    /// - Throws: ``KeyRingError/Code/malformed`` for text that holds no keys.
    package init(_ text: KeyRingText) throws(KeyRingError) {
        self.init(try text.parsed(), name: text.name)
    }

    package func existing() throws(KeyRingError) -> KeyRing? { self.keyRing }

    package func make() throws(KeyRingError) -> KeyRing { self.keyRing }
}
