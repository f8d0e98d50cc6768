internal import Crypto

/// The provider's ES256 key, drawn anew at each start, and its public half as a JSON Web Key (RFC 7517).
package struct SigningKey: Sendable {
    private let key = P256.Signing.PrivateKey()

    package init() {}

    /// The public key, ready for a key set.
    package var publicKey: JSONWebKey {
        let point = self.key.publicKey.x963Representation.dropFirst()
        let x = Base64URL.encode(point.prefix(32))
        let y = Base64URL.encode(point.suffix(32))
        // RFC 7638: the thumbprint is over exactly these members in this order.
        let canonical = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        return JSONWebKey(
            keyType: "EC",
            use: "sig",
            algorithm: "ES256",
            curve: "P-256",
            keyID: Base64URL.encode(SHA256.hash(data: Array(canonical.utf8))),
            x: x,
            y: y
        )
    }

    /// The 64 bytes R ‖ S over `text` (RFC 7518 section 3.4).
    package func sign(_ text: String) throws -> [UInt8] {
        Array(try self.key.signature(for: Array(text.utf8)).rawRepresentation)
    }
}
