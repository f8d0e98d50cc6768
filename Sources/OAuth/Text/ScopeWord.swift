/// One word of a `scope` (RFC 6749 §3.3).
package enum ScopeWord {
    static func isValid(_ word: String) -> Bool {
        !word.isEmpty
            && word.utf8.allSatisfy { byte in
                (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
            }
    }

    /// The words of a `scope`, without those that are not valid.
    package static func words(of scope: String) -> [String] {
        scope.split(separator: " ").map(String.init).filter(Self.isValid)
    }
}
