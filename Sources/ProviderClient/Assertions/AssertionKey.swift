internal import Crypto
internal import CryptoExtras
package import OAuth
package import TokenModel

/// A private key that signs assertions, and the key ID that the receiver knows it by.
///
/// Its description, debug description and mirror show nothing of it.
package struct AssertionKey: Sendable {
    private enum Key: Sendable {
        case rsa(_RSA.Signing.PrivateKey)
        case p256(P256.Signing.PrivateKey)
    }

    private let key: Key
    private let keyID: String?

    /// - Parameters:
    ///   - pem: PKCS #8, or the older form of the key's own kind; text around the key's block is ignored.
    ///   - keyID: the `kid` in the header of the assertions.
    package init(pem: Secret, algorithm: SigningAlgorithm, keyID: String?) throws(AssertionKeyError) {
        guard let block = Self.block(of: pem) else {
            throw AssertionKeyError(.noKey, "holds no private key in PEM form without a passphrase")
        }
        switch algorithm {
        case .rs256:
            guard let key = try? _RSA.Signing.PrivateKey(unsafePEMRepresentation: block) else {
                throw AssertionKeyError(.wrongKind, "holds no RSA private key that can be used, and RS256 needs one")
            }
            guard key.keySizeInBits >= 2_048 else {
                throw AssertionKeyError(
                    .tooShort,
                    "holds an RSA key of \(key.keySizeInBits) bits, and 2048 are the least"
                )
            }
            self.key = .rsa(key)
        case .es256:
            guard let key = try? P256.Signing.PrivateKey(pemRepresentation: block) else {
                throw AssertionKeyError(.wrongKind, "holds no P-256 private key that can be used, and ES256 needs one")
            }
            self.key = .p256(key)
        }
        self.keyID = keyID
    }

    /// The signed assertion in compact form; `nil` if the cryptography library fails, which is not expected.
    package func sign(_ assertion: Assertion) -> Secret? {
        switch self.key {
        case .rsa(let key):
            let input = assertion.signingInput(algorithm: .rs256, keyID: self.keyID)
            guard let signature = try? key.signature(for: SHA256.hash(data: input), padding: .insecurePKCS1v1_5) else {
                return nil
            }
            return Assertion.compact(input, signature: Array(signature.rawRepresentation))
        case .p256(let key):
            let input = assertion.signingInput(algorithm: .es256, keyID: self.keyID)
            guard let signature = try? key.signature(for: input) else { return nil }
            // R ‖ S, 32 bytes each (RFC 7518 §3.4).
            return Assertion.compact(input, signature: Array(signature.rawRepresentation))
        }
    }

    /// The PEM lines of the key itself, as the library expects them. They are in a copy that is never overwritten,
    /// made once for each reading of the configuration. `openssl` writes the curve's parameters before an EC key, and
    /// other tools write a certificate after it.
    private static func block(of pem: Secret) -> String? {
        let text = pem.withUnredacted { pem in String(decoding: pem.indices.map { pem[$0] }, as: UTF8.self) }
        let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingSuffix(while: \.isWhitespace) }
        let labels = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"]
        guard let begin = lines.firstIndex(where: { line in labels.contains { line == "-----BEGIN \($0)-----" } }),
            let end = lines[begin...].firstIndex(where: { $0.hasPrefix("-----END ") })
        else { return nil }
        return lines[begin...end].joined(separator: "\n") + "\n"
    }
}

extension AssertionKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Substring {
    fileprivate func trimmingSuffix(while predicate: (Character) -> Bool) -> Substring {
        guard let last = self.lastIndex(where: { !predicate($0) }) else { return self.prefix(0) }
        return self[...last]
    }
}

/// The reason that a file's key can't sign assertions. Two errors are equal when their codes are equal.
package struct AssertionKeyError: Error, Sendable {
    /// What is wrong with it.
    package enum Code: Sendable, CaseIterable {
        /// No private key in PEM form, or only one with a passphrase.
        case noKey
        /// The key is of another kind than the algorithm needs, or unusable.
        case wrongKind
        /// An RSA key of fewer than 2048 bits (RFC 7518 §3.3).
        case tooShort
    }

    /// Decides equality.
    package let code: Code
    /// What is wrong, without any of the file's contents. The text follows the file's path.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension AssertionKeyError: Equatable {
    package static func == (left: AssertionKeyError, right: AssertionKeyError) -> Bool { left.code == right.code }
}

/// What is needed to sign the assertions with which an account's tokens are requested (grant type jwt-bearer, RFC 7523
/// §2.1).
package struct GrantAssertion: Sendable {
    /// The signer; at Google, the service account's address.
    package let issuer: String
    /// The subject of the tokens; `nil` leaves it out.
    package let subject: String?
    /// The audience of the assertion; `nil` for the token endpoint's URL.
    package let audience: String?
    /// The key that signs it.
    package let key: AssertionKey

    package init(issuer: String, subject: String?, audience: String?, key: AssertionKey) {
        self.issuer = issuer
        self.subject = subject
        self.audience = audience
        self.key = key
    }

    /// A signed assertion for a request to `endpoint`; `nil` if it can't be signed.
    ///
    /// - Parameter now: the current time by the provider's clock.
    func sign(for endpoint: ProviderURL, scopes: [String], now: WallTime) -> Secret? {
        self.key.sign(
            Assertion(
                issuer: self.issuer,
                subject: self.subject,
                audience: self.audience ?? endpoint.text,
                scopes: scopes,
                issuedAt: now,
                id: Assertion.newID()
            )
        )
    }
}
