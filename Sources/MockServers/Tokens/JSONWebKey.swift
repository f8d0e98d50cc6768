/// One public P-256 key as `/oauth/jwks` shows it.
package struct JSONWebKey: Codable, Equatable, Sendable {
    package let keyType: String
    package let use: String
    package let algorithm: String
    package let curve: String
    package let keyID: String
    package let x: String
    package let y: String

    private enum CodingKeys: String, CodingKey {
        case keyType = "kty"
        case use
        case algorithm = "alg"
        case curve = "crv"
        case keyID = "kid"
        case x
        case y
    }
}
