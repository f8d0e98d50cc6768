internal import TextCoding
internal import TokenModel

/// An ID token (OpenID Connect Core 1.0 §2) taken apart. Nothing in it is true before its signature is verified.
struct UnverifiedIDToken {
    /// `alg`; only those that prove something.
    let algorithm: IDTokenAlgorithm
    /// `kid`; `nil` if the token names no key.
    let keyID: String?
    /// What was signed (RFC 7515 §5.1).
    let signingInput: [UInt8]
    let signature: [UInt8]
    /// The claims, in JSON.
    let payload: [UInt8]

    init(_ token: Secret) throws(IDTokenError) {
        // The copies are not overwritten. Unlike other tokens, this one opens nothing.
        let token = token.withUnredacted { token in token.indices.map { token[$0] } }
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = Base64.decodeURLSafe(Array(parts[0]).span),
            let payload = Base64.decodeURLSafe(Array(parts[1]).span),
            let signature = Base64.decodeURLSafe(Array(parts[2]).span),
            let fields = JSONFields(header), let name = fields.text("alg")
        else { throw IDTokenError(.unreadable, "the ID token is not a signed JWT") }
        guard let algorithm = IDTokenAlgorithm(rawValue: name) else {
            throw IDTokenError(
                .untrusted,
                "the ID token is not signed with a public key: RS, PS and ES algorithms and EdDSA are accepted"
            )
        }
        // An extension that must be understood, and none is (RFC 7515 §4.1.11).
        guard fields["crit"] == nil else {
            throw IDTokenError(.unreadable, "the ID token has an extension that Martlet does not know")
        }
        self.algorithm = algorithm
        self.keyID = fields.text("kid")
        self.signingInput = Array(token.prefix(parts[0].count + 1 + parts[1].count))
        self.signature = signature
        self.payload = payload
    }
}

/// The algorithms of ID tokens that are accepted (RFC 7518 §3.1, RFC 8037 §3.1). Those with a shared secret are not: a
/// public key is known to everybody, and so is any secret made of it.
enum IDTokenAlgorithm: String, CaseIterable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    case edDSA = "EdDSA"
}

/// The members of one JSON object.
struct JSONFields {
    private let members: [String: JSONValue]

    /// `nil` if the text is not one object, or repeats a name.
    init?(_ text: [UInt8]) {
        guard let value = try? JSONValue(parsing: text) else { return nil }
        self.init(value)
    }

    /// `nil` if the value is not an object.
    init?(_ value: JSONValue) {
        guard case .object(let members) = value else { return nil }
        self.members = Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
    }

    subscript(_ name: String) -> JSONValue? { self.members[name] }

    /// A string; `nil` if the member is missing or something else.
    func text(_ name: String) -> String? { self.members[name]?.text }

    /// A finite number; `nil` if the member is missing or something else.
    func number(_ name: String) -> Double? {
        guard case .number(let text) = self.members[name], let number = Double(text), number.isFinite else {
            return nil
        }
        return number
    }
}

extension JSONValue {
    /// The text of a string. Only for values that are no secrets by their meaning.
    var text: String? {
        guard case .string(let text) = self else { return nil }
        return text.withUnredacted { text in String(decoding: text.indices.map { text[$0] }, as: UTF8.self) }
    }
}
