package import TokenModel

/// The bytes allowed in a token that does not come from a provider's response: from an import or a file.
package enum TokenSyntax {
    /// Whether the token is printable ASCII without a space, and not empty, so that it can neither end a header field
    /// nor begin another (RFC 6750 §2.1).
    package static func isAccessToken(_ token: Secret) -> Bool {
        !token.isEmpty
            && token.withUnredacted { token in token.indices.allSatisfy { (0x21...0x7E).contains(token[$0]) } }
    }

    /// Whether the token is printable ASCII and not empty (RFC 6749 Appendix A.17).
    package static func isRefreshToken(_ token: Secret) -> Bool {
        !token.isEmpty
            && token.withUnredacted { token in token.indices.allSatisfy { (0x20...0x7E).contains(token[$0]) } }
    }
}

/// One word of a `scope` (RFC 6749 §3.3).
package enum ScopeWord {
    static func isValid(_ word: String) -> Bool {
        !word.isEmpty
            && word.utf8.allSatisfy { byte in
                (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
            }
    }

    /// The words of a `scope`, without those that are not valid.
    ///
    /// Slack and GitHub write `repo,gist` and others `repo, gist`. A comma may also be part of a word, so it separates
    /// words only where spaces don't: if there is no space, or if every space comes after a comma.
    package static func words(of scope: String) -> [String] {
        let words = scope.split(separator: " ")
        guard words.dropLast().allSatisfy({ $0.hasSuffix(",") }) else {
            return words.map(String.init).filter(Self.isValid)
        }
        return words.flatMap { $0.split(separator: ",") }.map(String.init).filter(Self.isValid)
    }
}
