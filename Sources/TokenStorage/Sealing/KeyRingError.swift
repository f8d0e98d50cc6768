/// Why a key ring can't be read, made or changed. Two errors are equal if their codes are equal.
package struct KeyRingError: Error, Sendable {
    package enum Code: String, Sendable {
        /// Other users could read or replace the keys.
        case exposed
        /// The text is not a list of keys.
        case malformed
        /// There are no keys, and they can't be made here.
        case missing
        /// The operating system denies access, or another process holds the lock.
        case inaccessible
        /// The program that should print the key said no, or nothing in time.
        case refused
        /// A person must give the passphrase.
        case passphraseNeeded
        case passphraseWrong
        /// A new passphrase that is too easy to guess, or that no unlock could bring.
        case passphraseUnfit
    }

    package let code: Code
    /// For the operator: what failed, on which path, and what would help. Contains nothing of a key.
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
