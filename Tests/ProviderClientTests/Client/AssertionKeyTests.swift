import Crypto
import CryptoExtras
import Foundation
import OAuth
import ProviderClient
import TestKit
import Testing
import TokenModel

@Suite struct AssertionKeyTests {
    private static let assertion = Assertion(
        issuer: "my-app",
        subject: "my-app",
        audience: "https://login.acme.example/token",
        issuedAt: noon,
        id: "j-1"
    )

    private func sign(_ pem: String, _ algorithm: SigningAlgorithm) throws -> SignedJWT {
        let key = try AssertionKey(pem: Secret(pem), algorithm: algorithm, keyID: "k1")
        let signed = try #require(key.sign(Self.assertion))
        return try SignedJWT(
            signed.withUnredacted { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) }
        )
    }

    @Test(arguments: [false, true])
    func `an RSA key signs, in either file format`(isPKCS8: Bool) throws {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let jwt = try self.sign(isPKCS8 ? key.pkcs8PEMRepresentation : key.pemRepresentation, .rs256)
        #expect(jwt.header["alg"] as? String == "RS256")
        #expect(jwt.header["kid"] as? String == "k1")
        let signature = _RSA.Signing.RSASignature(rawRepresentation: jwt.signature)
        let digest = SHA256.hash(data: jwt.signingInput)
        #expect(key.publicKey.isValidSignature(signature, for: digest, padding: .insecurePKCS1v1_5))
    }

    @Test(arguments: ["", "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"])
    func `a P-256 key makes a signature of 64 bytes, whatever precedes it in the file`(before: String) throws {
        let key = P256.Signing.PrivateKey()
        let jwt = try self.sign(before + key.pemRepresentation.replacing("\n", with: "\r\n"), .es256)
        #expect(jwt.signature.count == 64)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: jwt.signature)
        #expect(key.publicKey.isValidSignature(signature, for: jwt.signingInput))
    }

    @Test func `a wrong, short or missing key is refused, and a key shows nothing of itself`()
        throws
    {
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048).pemRepresentation
        let short = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1_024)).pemRepresentation
        let p384 = P384.Signing.PrivateKey().pemRepresentation
        let p256 = P256.Signing.PrivateKey().pemRepresentation
        let locked = p256.replacing("PRIVATE KEY", with: "ENCRYPTED PRIVATE KEY")
        let cases: [(String, SigningAlgorithm, AssertionKeyError.Code)] = [
            (rsa, .es256, .wrongKind), (p256, .rs256, .wrongKind), (p384, .es256, .wrongKind),
            (short, .rs256, .tooShort), (locked, .es256, .noKey), ("", .rs256, .noKey),
            (TestCertificates.valid, .es256, .noKey), (String(p256.dropLast(60)), .es256, .noKey),
        ]
        for (pem, algorithm, code) in cases {
            let error = #expect(throws: AssertionKeyError.self) {
                try AssertionKey(pem: Secret(pem), algorithm: algorithm, keyID: nil)
            }
            #expect(error?.code == code)
        }
        let key = try AssertionKey(pem: Secret(p256), algorithm: .es256, keyID: "canary-id")
        var dumped = "\(key) \(String(reflecting: key))"
        dump(key, to: &dumped)
        #expect(!dumped.contains("canary") && !dumped.contains("P256"))
    }
}
