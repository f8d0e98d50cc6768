package import TokenModel

/// The tokens that let operators in. There may be several, so that one can be changed without a moment without any.
package struct AdminTokens: Equatable, Sendable {
    private let tokens: [Secret]

    /// - Returns: `nil` for no token, or an empty one.
    package init?(_ tokens: [Secret]) {
        guard !tokens.isEmpty, !tokens.contains(where: \.isEmpty) else { return nil }
        self.tokens = tokens
    }

    /// Whether `presented` is one of them. The time it takes tells how long the tokens are and nothing else.
    package func contain(_ presented: Secret) -> Bool {
        var isKnown = false
        for token in self.tokens {
            let isThis = token == presented
            isKnown = isKnown || isThis
        }
        return isKnown
    }
}
