internal import Crypto

/// A new key for a caller: `martlet_` and 43 letters and digits out of the system's random source, 256 bits.
///
/// The beginning lets people, and scanners for leaked secrets, see what it is.
package struct CallerKey {
    /// What the caller sends.
    package let text: String

    package init() {
        self.text = "martlet_" + RandomText.lettersAndDigits(43)
    }

    /// What the configuration has of it: the SHA-256 of its characters, in 64 hexadecimal digits.
    package var digest: String {
        SHA256.hash(data: Array(self.text.utf8)).map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0\(digits)" : digits
        }.joined()
    }
}
