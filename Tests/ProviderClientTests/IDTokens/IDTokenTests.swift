import Crypto
import CryptoExtras
import Foundation
import OAuth
import ProviderClient
import Synchronization
import TestKit
import Testing
import TokenModel

extension LoopbackTests {
    /// Which ID tokens are accepted. They are signed by other code than the one that validates them.
    @Suite struct IDTokenTests {
        private static let key = P256.Signing.PrivateKey()

        /// The code of the error, or the subject.
        private static func outcome(
            _ endpoint: HTTPTokenEndpoint,
            _ token: String,
            nonce: String? = "n-1"
        ) async -> Result<String, IDTokenError> {
            do throws(IDTokenError) {
                return .success(try await endpoint.subject(of: Secret(token), nonce: nonce))
            } catch {
                #expect(!error.message.contains("canary"))
                return .failure(error)
            }
        }

        private static func error(_ code: IDTokenError.Code) -> Result<String, IDTokenError> {
            .failure(IDTokenError(code, ""))
        }

        /// Runs `body` with an issuer that publishes the key `k1`.
        private static func run(
            log: RecordingLog = RecordingLog(),
            _ body: (HTTPTokenEndpoint, SigningIssuer, ScriptedServer) async throws -> Void
        ) async throws {
            let issuer = SigningIssuer()
            issuer.keys.withLock { keys in keys = (try? [IDTokenKey.p256(Self.key).jwk("k1")]) ?? [] }
            let server = try await ScriptedServer { issuer.response($0) }
            try await withEndpoint(.discovered(try ProviderIssuer(server.origin)), log: log) { endpoint in
                try await body(endpoint, issuer, server)
            }
            await server.stop()
        }

        @Test func `a token with every supported algorithm is accepted, and a changed one is not`() async throws {
            let rsa = IDTokenKey.rsa(try _RSA.Signing.PrivateKey(keySize: .bits2048))
            let keys: [(key: IDTokenKey, algorithms: [String])] = [
                (rsa, ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]),
                (.p256(Self.key), ["ES256"]), (.p384(P384.Signing.PrivateKey()), ["ES384"]),
                (.p521(P521.Signing.PrivateKey()), ["ES512"]), (.ed25519(Curve25519.Signing.PrivateKey()), ["EdDSA"]),
            ]
            try await Self.run { endpoint, issuer, server in
                let set = try keys.enumerated().map { try $0.element.key.jwk("k\($0.offset)", also: #""use":"sig","#) }
                issuer.keys.withLock { $0 = set }
                for (number, (key, algorithms)) in keys.enumerated() {
                    for algorithm in algorithms {
                        let claims = try SigningIssuer.claims(server.origin)
                        let token = try SigningIssuer.token(claims, by: key, algorithm, id: "k\(number)")
                        #expect(await Self.outcome(endpoint, token) == .success("person-1"), "\(algorithm)")

                        let other = try SigningIssuer.token(
                            SigningIssuer.claims(server.origin, #"{"sub":"person-2"}"#),
                            by: key,
                            algorithm,
                            id: "k\(number)"
                        )
                        let parts = token.split(separator: ".")
                        let forged = "\(parts[0]).\(other.split(separator: ".")[1]).\(parts[2])"
                        #expect(await Self.outcome(endpoint, forged) == Self.error(.untrusted), "\(algorithm)")
                    }
                }
                // One set of keys serves them all.
                #expect(server.requests.map(\.path) == ["/.well-known/oauth-authorization-server", "/keys"])
            }
        }

        @Test func `a token that no key of the provider signed is not accepted`() async throws {
            try await Self.run { endpoint, issuer, server in
                let claims = try SigningIssuer.claims(server.origin)
                let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
                let published = try IDTokenKey.p256(Self.key).jwk("k1")
                let rsaPublished = try IDTokenKey.rsa(rsa).jwk("r1")
                issuer.keys.withLock { $0 = [published, rsaPublished] }

                let foreign = IDTokenKey.p256(P256.Signing.PrivateKey())
                var tokens = try [
                    // A foreign key, under the name of the provider's and under none
                    SigningIssuer.token(claims, by: foreign, "ES256"),
                    SigningIssuer.token(claims, by: foreign, "ES256", id: nil),
                    // The provider's key for another algorithm than the header says
                    SigningIssuer.token(claims, by: .p256(Self.key), "ES384"),
                    SigningIssuer.token(claims, by: .p256(Self.key), "RS256"),
                    SigningIssuer.token(claims, by: .rsa(rsa), "PS256", id: "k1"),
                ]
                // No signature at all
                for name in ["none", "None", "NONE", "nOnE"] {
                    tokens.append(try SigningIssuer.token(claims, header: ["alg": name, "kid": "k1"]) { _ in Data() })
                }
                tokens.append(try SigningIssuer.token(claims, header: ["alg": "ES256", "kid": "k1"]) { _ in Data() })
                // A public key as the secret of an HMAC, in each of its forms
                for secret in [
                    Data(rsa.publicKey.pemRepresentation.utf8), rsa.publicKey.derRepresentation,
                    Data(Self.key.publicKey.pemRepresentation.utf8), Self.key.publicKey.rawRepresentation,
                    Data(rsaPublished.utf8),
                ] {
                    for id in ["r1", "k1"] {
                        let token = try SigningIssuer.token(claims, header: ["alg": "HS256", "kid": id]) { input in
                            Data(HMAC<SHA256>.authenticationCode(for: input, using: SymmetricKey(data: secret)))
                        }
                        tokens.append(token)
                    }
                }
                for (number, token) in tokens.enumerated() {
                    #expect(await Self.outcome(endpoint, token) == Self.error(.untrusted), "token \(number)")
                }
                // The header brings its own key.
                let own = try SigningIssuer.token(
                    claims,
                    header: [
                        "alg": "ES256", "jwk": ["kty": "EC"], "jku": "\(server.origin)/other", "x5u": server.origin,
                    ]
                ) { try foreign.signature("ES256", $0) }
                #expect(await Self.outcome(endpoint, own) == Self.error(.untrusted))
                #expect(!server.requests.contains { $0.path == "/other" })
            }
        }

        @Test(arguments: [
            #"{"use":"enc","kid":"k1""#, #"{"key_ops":["sign"],"kid":"k1""#, #"{"alg":"ES384","kid":"k1""#,
            #"{"alg":"ES256","use":7,"kid":"k1""#,
        ])
        func `a key that is for something else verifies nothing`(start: String) async throws {
            try await Self.run { endpoint, issuer, server in
                let jwk = try IDTokenKey.p256(Self.key).jwk(nil).replacing("{", with: start + ",")
                issuer.keys.withLock { $0 = [jwk] }
                let token = try SigningIssuer.token(SigningIssuer.claims(server.origin), by: .p256(Self.key), "ES256")
                #expect(await Self.outcome(endpoint, token) == Self.error(.untrusted))
            }
        }

        @Test(arguments: [
            (#"{"iss":"https://evil.example"}"#, IDTokenError.Code.issuerDiffers),
            (#"{"iss":"ISSUER/"}"#, .issuerDiffers),
            (#"{"aud":"other"}"#, .audienceDiffers),
            (#"{"aud":["other"]}"#, .audienceDiffers),
            (#"{"aud":[]}"#, .audienceDiffers),
            (#"{"aud":["my-app","other"]}"#, .audienceDiffers),
            (#"{"aud":["my-app","other"],"azp":"other"}"#, .audienceDiffers),
            (#"{"azp":"other"}"#, .audienceDiffers),
            (#"{"exp":\#(SigningIssuer.noonSeconds - 60)}"#, .expired),
            (#"{"iat":\#(SigningIssuer.noonSeconds + 61)}"#, .expired),
            (#"{"nbf":\#(SigningIssuer.noonSeconds + 61)}"#, .expired),
            (#"{"nonce":"n-2"}"#, .nonceDiffers),
            (#"{"nonce":null}"#, .nonceDiffers),
            (#"{"nonce":7}"#, .unreadable),
            (#"{"sub":null}"#, .unreadable),
            (#"{"sub":""}"#, .unreadable),
            (#"{"sub":"\#(String(repeating: "x", count: 256))"}"#, .unreadable),
            (#"{"sub":7}"#, .unreadable),
            (#"{"exp":null}"#, .unreadable),
            (#"{"exp":"1795089900"}"#, .unreadable),
            (#"{"iat":null}"#, .unreadable),
            (#"{"iss":null}"#, .unreadable),
            (#"{"aud":null}"#, .unreadable),
            (#"{"aud":["my-app",7]}"#, .unreadable),
            (#"{"azp":7}"#, .unreadable),
            (#"{"nbf":"now"}"#, .unreadable),
        ])
        func `a claim that is wrong has its error`(changes: String, code: IDTokenError.Code) async throws {
            try await Self.run { endpoint, _, server in
                let claims = try SigningIssuer.claims(server.origin, changes)
                let token = try SigningIssuer.token(claims, by: .p256(Self.key), "ES256")
                #expect(await Self.outcome(endpoint, token) == Self.error(code))
            }
        }

        @Test(arguments: [
            #"{"aud":["my-app"]}"#, #"{"aud":["other","my-app"],"azp":"my-app"}"#, #"{"azp":"my-app"}"#,
            #"{"exp":\#(SigningIssuer.noonSeconds - 59)}"#, #"{"exp":\#(SigningIssuer.noonSeconds).5}"#,
            #"{"iat":\#(SigningIssuer.noonSeconds + 60)}"#, #"{"iat":\#(SigningIssuer.noonSeconds - 86_400)}"#,
            #"{"nbf":\#(SigningIssuer.noonSeconds + 60)}"#, #"{"email":"canary@acme.example"}"#,
        ])
        func `a claim that is right, or nearly so by the clock, is accepted`(changes: String) async throws {
            try await Self.run { endpoint, _, server in
                let claims = try SigningIssuer.claims(server.origin, changes)
                let token = try SigningIssuer.token(claims, by: .p256(Self.key), "ES256")
                #expect(await Self.outcome(endpoint, token) == .success("person-1"))
            }
        }

        @Test func `a sub of 255 bytes is accepted, and a nonce is compared only if one was sent`() async throws {
            try await Self.run { endpoint, _, server in
                let sub = String(repeating: "é", count: 127) + "x"
                let claims = try SigningIssuer.claims(server.origin, #"{"sub":"\#(sub)","nonce":null}"#)
                let token = try SigningIssuer.token(claims, by: .p256(Self.key), "ES256")
                #expect(await Self.outcome(endpoint, token, nonce: nil) == .success(sub))
                #expect(await Self.outcome(endpoint, token) == Self.error(.nonceDiffers))
            }
        }

        @Test(arguments: [
            "", ".", "..", "canary", "canary.canary.canary", "a.b.c.d.e", "e30.e30.e30",
            "eyJhbGciOiJFUzI1NiJ9.e30.AA==",
            "eyJhbGciOjd9.e30.AA",
            // Repeated members: {"alg":"ES256","alg":"none"}
            "eyJhbGciOiJFUzI1NiIsImFsZyI6Im5vbmUifQ.e30.AA",
            // {"alg":"ES256","crit":["x"],"x":1}
            "eyJhbGciOiJFUzI1NiIsImNyaXQiOlsieCJdLCJ4IjoxfQ.e30.AA",
        ])
        func `what is no signed JWT is unreadable, and the provider is not asked`(token: String) async throws {
            try await Self.run { endpoint, _, server in
                #expect(await Self.outcome(endpoint, token) == Self.error(.unreadable))
                #expect(server.requests.isEmpty)
            }
        }

        @Test func `claims that repeat a name are unreadable, even if they are signed`() async throws {
            try await Self.run { endpoint, _, server in
                let key = IDTokenKey.p256(Self.key)
                let input =
                    Data(#"{"alg":"ES256","kid":"k1"}"#.utf8).urlSafe + "."
                    + Data(#"{"sub":"a","sub":"b"}"#.utf8).urlSafe
                let token = "\(input).\(try key.signature("ES256", Data(input.utf8)).urlSafe)"
                #expect(await Self.outcome(endpoint, token) == Self.error(.unreadable))
            }
        }

        @Test func `times are judged by the provider's clock`() async throws {
            try await Self.run { endpoint, issuer, server in
                // Given a provider whose clock is nine minutes ahead
                issuer.response.withLock {
                    $0 = .bytes(http("200 OK", #"{"access_token":"A"}"#, "Date: Thu, 19 Nov 2026 12:09:00 GMT"))
                }
                let issued = SigningIssuer.noonSeconds + 540
                let claims = try SigningIssuer.claims(server.origin, #"{"iat":\#(issued),"exp":\#(issued + 300)}"#)
                let token = try SigningIssuer.token(claims, by: .p256(Self.key), "ES256")
                #expect(await Self.outcome(endpoint, token) == Self.error(.expired))

                // When the clock has become known
                #expect(await endpoint.redeem().name == "success")

                // Then its tokens are valid
                #expect(await Self.outcome(endpoint, token) == .success("person-1"))
            }
        }
    }
}
