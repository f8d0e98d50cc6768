internal import Crypto

/// A new key for a caller: `martlet_` and 43 letters and digits out of the system's random source, 256 bits.
///
/// The beginning lets people, and scanners for leaked secrets, see what it is. The rest needs no quoting anywhere: in a
/// shell, a URL, YAML or a header field.
package struct CallerKey {
    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

    /// What the caller sends.
    package let text: String

    package init() {
        var generator = SystemRandomNumberGenerator()
        // 43 × log2(62) = 256.03
        let random = (0..<43).map { _ in Self.alphabet[Int.random(in: Self.alphabet.indices, using: &generator)] }
        self.text = "martlet_" + String(random)
    }

    /// What the configuration has of it: the SHA-256 of its characters, in 64 hexadecimal digits.
    package var digest: String {
        SHA256.hash(data: Array(self.text.utf8)).map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0\(digits)" : digits
        }.joined()
    }
}
