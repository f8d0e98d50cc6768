/// The SHA-256 of a caller's key as the file has it.
enum KeyDigest {
    /// Of no bytes at all: somebody has hashed an empty variable.
    private static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    /// 64 hexadecimal digits, as 32 bytes.
    static func parse(_ text: String) throws(ValueError) -> [UInt8] {
        let digits = text.utf8.compactMap(\.hexadecimalValue)
        // What is here instead may be the key itself: it is not repeated.
        guard text.utf8.count == 64, digits.count == 64 else {
            throw ValueError("expected 64 hexadecimal digits, the SHA-256 of the key: martlet callers new makes both")
        }
        guard text.lowercased() != Self.empty else { throw ValueError("is the SHA-256 of nothing, not of a key") }
        return stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
