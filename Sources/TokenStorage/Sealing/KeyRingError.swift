/// Why there is no key ring to be had. Equal when the codes are equal.
package struct KeyRingError: Error, Sendable {
    package enum Code: String, Sendable {
        /// Others than the gateway could read or replace the keys.
        case exposed
        /// What is there is not a list of keys.
        case malformed
        /// There are no keys, and none can be made here.
        case missing
        /// The operating system refuses.
        case inaccessible
    }

    package let code: Code
    /// For the operator: what failed, on which path, what would help. Nothing of a key.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension KeyRingError: CustomStringConvertible {
    package var description: String { "\(self.code.rawValue): \(self.message)" }
}

extension KeyRingError: Equatable {
    package static func == (left: KeyRingError, right: KeyRingError) -> Bool { left.code == right.code }
}
