import Crypto
import Foundation
import MockServers
import Testing
import TextCoding

/// An ID token, read by code that is independent of the product.
struct IDTokenParts {
    struct Header: Decodable {
        let alg: String
        let kid: String?
    }

    struct Claims: Decodable {
        let iss: String
        let sub: String
        let aud: String
        let exp: Int
        let iat: Int
        let auth_time: Int
        let nonce: String?
    }

    let header: Header
    let claims: Claims
    private let signed: String
    private let signature: [UInt8]

    init(_ token: String) throws {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        try #require(parts.count == 3)
        self.header = try JSONBody.decode(Header.self, from: Self.decode(parts[0]))
        self.claims = try JSONBody.decode(Claims.self, from: Self.decode(parts[1]))
        self.signed = "\(parts[0]).\(parts[1])"
        self.signature = try Self.decode(parts[2])
    }

    /// Whether the only published key has the token's key id and made its signature.
    func isSigned(byThe address: ListeningAddress) async throws -> Bool {
        struct Keys: Decodable { let keys: [JSONWebKey] }
        let keys: Keys = try await address.request("GET", "/oauth/jwks").json()
        let key = try #require(keys.keys.first)
        guard keys.keys.count == 1, self.header.alg == "ES256", self.header.kid == key.keyID,
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: self.signature)
        else { return false }
        let point = try Self.decode(key.x) + Self.decode(key.y)
        return try P256.Signing.PublicKey(rawRepresentation: point)
            .isValidSignature(signature, for: Data(self.signed.utf8))
    }

    private static func decode(_ text: String) throws -> [UInt8] {
        let bytes = Base64.decodeURLSafe(Array(text.utf8).span)
        return try #require(bytes)
    }
}
