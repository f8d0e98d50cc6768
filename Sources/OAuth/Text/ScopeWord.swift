/// One word of a `scope` (RFC 6749 §3.3).
enum ScopeWord {
    static func isValid(_ word: String) -> Bool {
        !word.isEmpty
            && word.utf8.allSatisfy { byte in
                (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
            }
    }
}
