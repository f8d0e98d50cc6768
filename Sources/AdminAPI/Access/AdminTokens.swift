package import TokenModel

/// The tokens that let administrators in. There may be several: each has its own, and one can be changed without a moment
/// without any.
package struct AdminTokens: Equatable, Sendable {
    /// A token, and whose it is.
    package struct Entry: Equatable, Sendable {
        package let administrator: Administrator
        package let token: Secret

        package init(_ administrator: Administrator, _ token: Secret) {
            self.administrator = administrator
            self.token = token
        }
    }

    private let entries: [Entry]

    /// - Returns: `nil` for no token, or an empty one.
    package init?(entries: [Entry]) {
        guard !entries.isEmpty, !entries.contains(where: \.token.isEmpty) else { return nil }
        self.entries = entries
    }

    /// Tokens without names.
    ///
    /// - Returns: `nil` for no token, or an empty one.
    package init?(_ tokens: [Secret]) { self.init(entries: tokens.map { Entry(.unnamed, $0) }) }

    /// Whose token `presented` is; `nil` for nobody's. The time it takes tells how long the tokens are and nothing else.
    package func administrator(presenting presented: Secret) -> Administrator? {
        var found: Int?
        for index in self.entries.indices {
            let isThis = self.entries[index].token == presented
            found = isThis ? index : found
        }
        return found.map { self.entries[$0].administrator }
    }

    /// Whether `presented` is one of them.
    package func contain(_ presented: Secret) -> Bool { self.administrator(presenting: presented) != nil }
}
