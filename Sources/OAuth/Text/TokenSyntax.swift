package import TokenModel

/// Which bytes a token may have that came from somebody else than a provider's answer: an import, a file.
package enum TokenSyntax {
    /// Printable ASCII without a space, and not empty: can neither end a header field nor begin another (RFC 6750 §2.1).
    package static func isAccessToken(_ token: Secret) -> Bool {
        !token.isEmpty
            && token.withUnredacted { token in token.indices.allSatisfy { (0x21...0x7E).contains(token[$0]) } }
    }

    /// Printable ASCII, and not empty (RFC 6749 Appendix A.17).
    package static func isRefreshToken(_ token: Secret) -> Bool {
        !token.isEmpty
            && token.withUnredacted { token in token.indices.allSatisfy { (0x20...0x7E).contains(token[$0]) } }
    }
}
