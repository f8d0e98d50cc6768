internal import JWTKit
internal import OAuth
internal import TextCoding
internal import TokenModel

/// A provider's public keys (RFC 7517 §5), as far as ID tokens can be signed with them.
struct KeySet: Sendable {
    /// The largest document that is read, in bytes. A key with its certificates has a few KiB.
    static let documentLimit = 256 * 1024
    /// The most keys that are read.
    private static let keyLimit = 100

    private let keys: [PublicKey]

    /// `nil` if the response is no key set. Keys that can't be used are left out.
    init?(_ answer: ProviderResponse) {
        guard answer.status == 200, answer.bodyEnd != .tooLarge,
            answer.contentEncoding.map({ $0.lowercased() == "identity" }) ?? true,
            let document = JSONFields(answer.body.withUnredacted { body in body.indices.map { body[$0] } }),
            case .array(let elements) = document["keys"]
        else { return nil }
        self.keys = elements.prefix(Self.keyLimit).compactMap { JSONFields($0).flatMap(PublicKey.init) }
    }

    /// What a signature turns out to be.
    enum Finding {
        case verified
        /// A key that the token names, or may mean, did not sign it.
        case wrong
        /// The set has no key that the token names, or none that fits its algorithm.
        case unknownKey
    }

    /// Verifies the signature with the key that the token names. If it names none, or a key has no name, each key that
    /// fits the algorithm may have signed.
    func verify(_ token: UnverifiedIDToken) async -> Finding {
        let candidates = self.keys.filter { $0.mayHaveSigned(token) }
        for key in candidates where await key.signed(token) { return .verified }
        let isNamed = token.keyID != nil && candidates.contains { $0.id == token.keyID }
        return isNamed ? .wrong : .unknownKey
    }
}

/// One key of a set (RFC 7517 §4). Private parts, if somebody publishes them, are not read.
private struct PublicKey: Sendable {
    private enum Material: Sendable {
        case rsa(modulus: String, exponent: String)
        case curve(String, x: String, y: String)
        case edwards(x: String)
    }

    let id: String?
    private let material: Material
    /// `alg`: the only algorithm that the key is for; `nil` for any that fits.
    private let algorithm: String?

    init?(_ fields: JSONFields) {
        if let use = fields["use"], use.text != "sig" { return nil }
        if case .array(let operations) = fields["key_ops"], !operations.contains(where: { $0.text == "verify" }) {
            return nil
        }
        switch fields.text("kty") {
        case "RSA":
            guard let modulus = fields.text("n"), let exponent = fields.text("e") else { return nil }
            self.material = .rsa(modulus: modulus, exponent: exponent)
        case "EC":
            guard let curve = fields.text("crv"), let x = fields.text("x"), let y = fields.text("y") else { return nil }
            self.material = .curve(curve, x: x, y: y)
        case "OKP":
            guard fields.text("crv") == "Ed25519", let x = fields.text("x") else { return nil }
            self.material = .edwards(x: x)
        default: return nil
        }
        self.id = fields.text("kid")
        self.algorithm = fields.text("alg")
    }

    func mayHaveSigned(_ token: UnverifiedIDToken) -> Bool {
        (self.algorithm ?? token.algorithm.rawValue) == token.algorithm.rawValue
            && (self.id == nil || token.keyID == nil || self.id == token.keyID)
            && self.key(for: token.algorithm) != nil
    }

    /// Whether the key's signature is on the token. A key or a signature that the library does not take is none.
    func signed(_ token: UnverifiedIDToken) async -> Bool {
        guard let key = self.key(for: token.algorithm) else { return false }
        // The collection has one key for one algorithm, so nothing in the token chooses among any.
        let verifier = try? await JWTKeyCollection().add(jwk: key).getKey()
        return (try? verifier?.verify(token.signature, signs: token.signingInput)) ?? false
    }

    /// The key for one algorithm; `nil` if it is of another kind.
    private func key(for algorithm: IDTokenAlgorithm) -> JWK? {
        // The collection wants a name; it means nothing.
        let name: JWKIdentifier = "key"
        switch (self.material, algorithm) {
        case (.rsa(let modulus, let exponent), .rs256), (.rsa(let modulus, let exponent), .rs384),
            (.rsa(let modulus, let exponent), .rs512), (.rsa(let modulus, let exponent), .ps256),
            (.rsa(let modulus, let exponent), .ps384), (.rsa(let modulus, let exponent), .ps512):
            return .rsa(algorithm.jwk, identifier: name, modulus: modulus, exponent: exponent)
        case (.curve("P-256", let x, let y), .es256):
            return .ecdsa(algorithm.jwk, identifier: name, x: x, y: y, curve: .p256)
        case (.curve("P-384", let x, let y), .es384):
            return .ecdsa(algorithm.jwk, identifier: name, x: x, y: y, curve: .p384)
        case (.curve("P-521", let x, let y), .es512):
            return .ecdsa(algorithm.jwk, identifier: name, x: x, y: y, curve: .p521)
        case (.edwards(let x), .edDSA):
            return .octetKeyPair(algorithm.jwk, identifier: name, x: x, y: nil, curve: .ed25519)
        case (.rsa, _), (.curve, _), (.edwards, _):
            return nil
        }
    }
}

extension IDTokenAlgorithm {
    fileprivate var jwk: JWK.Algorithm? { JWK.Algorithm(rawValue: self.rawValue) }
}
