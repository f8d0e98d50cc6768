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
        self.rawValue = digest.hexadecimal
    }
}

extension StoreID {
    /// What a token is called in keys of records, which are not sealed: its HMAC-SHA256 under the store's id.
    ///
    /// A token is drawn from too many to be guessed, so the name tells nothing of it, and the same token has another name
    /// in another store. It depends on no sealing key: whoever finds the token, before a change of keys or after, gives it
    /// this name.
    package func name(of token: Secret) -> String {
        let key = SymmetricKey(data: Array("martlet token name\0\(self.rawValue)".utf8))
        let code = token.withUnredacted { span in
            unsafe span.withUnsafeBytes { bytes in unsafe HMAC<SHA256>.authenticationCode(for: bytes, using: key) }
        }
        return code.hexadecimal
    }
}

extension Sequence<UInt8> {
    fileprivate var hexadecimal: String { self.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
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
