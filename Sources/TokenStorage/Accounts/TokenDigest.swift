internal import Crypto
package import TokenModel

/// What is kept of a killed token, to know it again: its SHA-256. It stands in sealed records only.
package struct TokenDigest: Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package init(of token: Secret) {
        let digest = token.withUnredacted { span in
            unsafe span.withUnsafeBytes { bytes in unsafe SHA256.hash(data: bytes) }
        }
        self.rawValue = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension AccountRecord {
    /// How many killed tokens of an account are known again.
    private static let mostKilled = 16

    /// Whether `token` was killed here.
    package func hasKilled(_ token: Secret) -> Bool { self.killed.contains(TokenDigest(of: token)) }

    /// Remembers the record's tokens as killed.
    package mutating func rememberKilled() {
        for token in [self.tokens?.refreshToken, self.tokens?.accessToken].compactMap({ $0 }) {
            let digest = TokenDigest(of: token)
            self.killed.removeAll { $0 == digest }
            self.killed.append(digest)
        }
        self.killed.removeFirst(max(0, self.killed.count - Self.mostKilled))
    }

    /// Remembers also what `other` does, which is written over.
    package mutating func rememberKilled(of other: AccountRecord) {
        self.killed = self.killed.filter { !other.killed.contains($0) } + other.killed
        self.killed.removeFirst(max(0, self.killed.count - Self.mostKilled))
    }
}
