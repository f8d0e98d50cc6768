/// Why a file's key can't sign assertions. Equal when the codes are equal.
package struct AssertionKeyError: Error, Sendable {
    /// What is wrong with it.
    package enum Code: Sendable, CaseIterable {
        /// No private key in PEM form, or one behind a passphrase.
        case noKey
        /// A key of another kind than the algorithm is for.
        case wrongKind
        /// An RSA key of less than 2048 bits (RFC 7518 §3.3).
        case tooShort
    }

    /// Decides equality.
    package let code: Code
    /// Follows the file's path: what is wrong; nothing of what stands in it.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension AssertionKeyError: Equatable {
    package static func == (left: AssertionKeyError, right: AssertionKeyError) -> Bool { left.code == right.code }
}
