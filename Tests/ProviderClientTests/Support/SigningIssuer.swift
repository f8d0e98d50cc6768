import Crypto
import CryptoExtras
import Foundation
import NIOCore
import Synchronization
import Testing
import TokenModel

/// A key that signs ID tokens, independent of the library that validates them.
enum IDTokenKey {
    case rsa(_RSA.Signing.PrivateKey)
    case p256(P256.Signing.PrivateKey)
    case p384(P384.Signing.PrivateKey)
    case p521(P521.Signing.PrivateKey)
    case ed25519(Curve25519.Signing.PrivateKey)

    /// The public key as a member of a key set (RFC 7517 §4).
    func jwk(_ id: String?, also members: String = "") throws -> String {
        let start = (id.map { #""kid":"\#($0)","# } ?? "") + members
        func curve(_ name: String, _ point: Data) -> String {
            let half = point.count / 2
            return
                #"{\#(start)"kty":"EC","crv":"\#(name)","x":"\#(point.prefix(half).urlSafe)","y":"\#(point.suffix(half).urlSafe)"}"#
        }
        switch self {
        case .rsa(let key):
            let numbers = try key.publicKey.getKeyPrimitives()
            return #"{\#(start)"kty":"RSA","n":"\#(numbers.modulus.urlSafe)","e":"\#(numbers.publicExponent.urlSafe)"}"#
        case .p256(let key): return curve("P-256", key.publicKey.rawRepresentation)
        case .p384(let key): return curve("P-384", key.publicKey.rawRepresentation)
        case .p521(let key): return curve("P-521", key.publicKey.rawRepresentation)
        case .ed25519(let key):
            return #"{\#(start)"kty":"OKP","crv":"Ed25519","x":"\#(key.publicKey.rawRepresentation.urlSafe)"}"#
        }
    }

    func signature(_ algorithm: String, _ input: Data) throws -> Data {
        switch self {
        case .rsa(let key):
            let padding: _RSA.Signing.Padding = algorithm.hasPrefix("PS") ? .PSS : .insecurePKCS1v1_5
            switch algorithm.suffix(3) {
            case "384": return try key.signature(for: SHA384.hash(data: input), padding: padding).rawRepresentation
            case "512": return try key.signature(for: SHA512.hash(data: input), padding: padding).rawRepresentation
            default: return try key.signature(for: SHA256.hash(data: input), padding: padding).rawRepresentation
            }
        case .p256(let key): return try key.signature(for: input).rawRepresentation
        case .p384(let key): return try key.signature(for: input).rawRepresentation
        case .p521(let key): return try key.signature(for: input).rawRepresentation
        case .ed25519(let key): return try key.signature(for: input)
        }
    }
}

/// An OpenID provider on loopback: its metadata, and whatever keys a test lets it publish.
final class SigningIssuer: Sendable {
    let keys = Mutex<[String]>([])
    /// What stands for the key set, if not the keys.
    let keyDocument = Mutex<String?>(nil)
    /// Additional members of the metadata, each with a comma before it.
    let members = Mutex("")
    /// The response at every other path.
    let response = Mutex<ScriptedServer.Answer>(.bytes(http("404 Not Found", "")))

    func response(_ request: ScriptedServer.Request) -> ScriptedServer.Answer {
        let origin = "http://\(request.host)"
        switch request.path {
        case "/.well-known/oauth-authorization-server":
            let metadata = #"{"issuer":"\#(origin)","token_endpoint":"\#(origin)/token","jwks_uri":"\#(origin)/keys""#
            return .bytes(
                http("200 OK", metadata + self.members.withLock { $0.replacing("ORIGIN", with: origin) } + "}")
            )
        case "/keys":
            let keys = #"{"keys":[\#(self.keys.withLock { $0 }.joined(separator: ","))]}"#
            return .late(self.keyDocument.withLock { $0 } ?? http("200 OK", keys), after: .milliseconds(5))
        default:
            return self.response.withLock { $0 }
        }
    }

    /// Claims that are valid at noon.
    ///
    /// - Parameter changes: a JSON object with the claims that are different; `null` removes one. `ISSUER` in it stands
    ///   for the issuer.
    static func claims(_ issuer: String, _ changes: String = "{}") throws -> [String: Any] {
        var claims: [String: Any] = [
            "iss": issuer, "sub": "person-1", "aud": "my-app", "nonce": "n-1", "iat": noonSeconds,
            "exp": noonSeconds + 300,
        ]
        let text = Data(changes.replacing("ISSUER", with: issuer).utf8)
        let different = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
        for (name, value) in different { claims[name] = value is NSNull ? nil : value }
        return claims
    }

    static let noonSeconds = Int(noon.millisecondsSince1970 / 1000)

    /// A JWT in compact form.
    static func token(
        _ claims: [String: Any],
        header: [String: Any],
        signature: (Data) throws -> Data
    ) throws -> String {
        func part(_ object: [String: Any]) throws -> String {
            try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes]).urlSafe
        }
        let input = try "\(part(header)).\(part(claims))"
        return "\(input).\(try signature(Data(input.utf8)).urlSafe)"
    }

    /// A JWT in compact form, signed by `key`.
    static func token(
        _ claims: [String: Any],
        by key: IDTokenKey,
        _ algorithm: String,
        id: String? = "k1"
    ) throws -> String {
        var header: [String: Any] = ["alg": algorithm, "typ": "JWT"]
        header["kid"] = id
        return try Self.token(claims, header: header) { try key.signature(algorithm, $0) }
    }
}

extension Data {
    /// base64url without padding (RFC 7515 §2).
    var urlSafe: String {
        self.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
