internal import Crypto
internal import TextCoding
internal import TokenModel
internal import TokenStorage

/// One sign-in of an account. Whoever knows it may open the sign-in in a browser, so it is random.
///
/// It begins with the name of the account in the store, which reveals nothing about the account, so that the record is
/// found with one read.
package struct SignInID: Identifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// A new id with 128 random bits.
    static func random(under name: SignInName) -> SignInID {
        SignInID("\(name.rawValue)-\(ClaimID.random().rawValue)")
    }

    /// The name that the record is stored under; `nil` for a text that is no id.
    var name: SignInName? {
        let parts = self.rawValue.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].utf8.count == SignInName.length else { return nil }
        return SignInName(parts[0])
    }
}

/// An account in the key of its sign-in: a part of the HMAC-SHA256 of its name under the store's id.
///
/// The provider and the browser see it, in `state`. It does not tell them how the account is called here.
struct SignInName: Hashable, Sendable {
    let rawValue: String

    /// In hexadecimal digits.
    static let length = 32

    init(of account: AccountID, in store: StoreID) {
        self.rawValue = String(store.name(of: Secret("sign-in\0\(account.rawValue)")).prefix(Self.length))
    }

    /// `nil` for a text that is no such name.
    init?(_ text: some StringProtocol) {
        let isDigits = text.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        guard text.utf8.count == Self.length, isDigits else { return nil }
        self.rawValue = String(text)
    }

    var key: RecordKey { .signIn(self.rawValue) }
}

/// What only the party that began an authorization request can know.
struct AuthorizationSecrets: Equatable, Sendable {
    /// Ties the answer to this request (RFC 6749 §10.12). It begins with the account's name in the store and has 256
    /// random bits.
    let state: Secret
    /// Proves to the provider that the code is ours (RFC 7636 §4.1).
    let verifier: Secret
    /// Ties the ID token to this request (OpenID Connect Core §3.1.2.1).
    let nonce: Secret
    /// Ties the answer to the browser that began, by a cookie; `nil` if the answer comes in another way.
    let browser: Secret?

    static func random(under name: SignInName, bindsBrowser: Bool) -> AuthorizationSecrets {
        AuthorizationSecrets(
            state: Secret(Array("\(name.rawValue).".utf8) + Self.randomText()),
            verifier: Secret(Self.randomText()),
            nonce: Secret(Self.randomText()),
            browser: bindsBrowser ? Secret(Self.randomText()) : nil
        )
    }

    /// The name that a `state` begins with; `nil` for a text that is none of ours.
    static func name(in state: Secret) -> SignInName? {
        guard state.count == SignInName.length + 44 else { return nil }
        return state.withUnredacted { bytes in
            guard bytes[SignInName.length] == UInt8(ascii: ".") else { return nil }
            return SignInName(String(decoding: (0..<SignInName.length).map { bytes[$0] }, as: UTF8.self))
        }
    }

    /// The claim of the process with `salt` on the exchange of `code`: the same whenever the process gets this answer.
    func claim(on code: Secret, by salt: ClaimID, in store: StoreID) -> ClaimID {
        var bytes = Array("\(salt.rawValue)\0".utf8)
        for secret in [self.state, code] {
            secret.withUnredacted { span in for index in span.indices { bytes.append(span[index]) } }
            bytes.append(0)
        }
        return ClaimID(String(store.name(of: Secret(bytes)).prefix(32)))
    }

    /// The S256 challenge of the verifier (RFC 7636 §4.2).
    var challenge: String {
        self.verifier.withUnredacted { bytes in
            Base64.urlSafeText(SHA256.hash(data: bytes.indices.map { bytes[$0] }))
        }
    }

    /// The nonce as the request has it. It is no secret from the provider.
    var nonceText: String {
        self.nonce.withUnredacted { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) }
    }

    /// 256 random bits in 43 characters, all of which a verifier may have.
    private static func randomText() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return Base64.encodeURLSafe((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }
}
