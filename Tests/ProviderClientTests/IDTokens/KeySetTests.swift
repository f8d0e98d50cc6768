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
    /// How the provider's keys are fetched, kept and fetched again.
    @Suite struct KeySetTests {
        private static let first = IDTokenKey.p256(P256.Signing.PrivateKey())
        private static let second = IDTokenKey.p256(P256.Signing.PrivateKey())

        private static func run(
            log: RecordingLog = RecordingLog(),
            clock: ManualClock = ManualClock(),
            _ body: (HTTPTokenEndpoint, SigningIssuer, ScriptedServer) async throws -> Void
        ) async throws {
            let issuer = SigningIssuer()
            issuer.keys.withLock { keys in keys = (try? [Self.first.jwk("k1")]) ?? [] }
            let server = try await ScriptedServer { issuer.response($0) }
            try await withEndpoint(.discovered(try ProviderIssuer(server.origin)), log: log, clock: clock) { endpoint in
                try await body(endpoint, issuer, server)
            }
            await server.stop()
        }

        private static func token(_ server: ScriptedServer, by key: IDTokenKey, id: String?) throws -> Secret {
            Secret(try SigningIssuer.token(SigningIssuer.claims(server.origin), by: key, "ES256", id: id))
        }

        private static func fetches(_ server: ScriptedServer) -> Int { server.requests.count { $0.path == "/keys" } }

        @Test func `keys are fetched once, and again when a token names one that is not among them`() async throws {
            try await Self.run { endpoint, issuer, server in
                let old = try Self.token(server, by: Self.first, id: "k1")
                #expect(try await endpoint.subject(of: old, nonce: nil) == "person-1")
                #expect(try await endpoint.subject(of: old, nonce: nil) == "person-1")
                #expect(Self.fetches(server) == 1)

                // When the provider has new keys
                let rotated = try Self.second.jwk("k2")
                issuer.keys.withLock { $0 = [rotated] }
                let new = try Self.token(server, by: Self.second, id: "k2")

                // Then the new one counts, and the withdrawn one does not
                #expect(try await endpoint.subject(of: new, nonce: nil) == "person-1")
                #expect(Self.fetches(server) == 2)
                await #expect(throws: IDTokenError(.untrusted, "")) { try await endpoint.subject(of: old, nonce: nil) }
            }
        }

        @Test func `a key that the provider has withdrawn counts for ten minutes at most`() async throws {
            let clock = ManualClock()
            try await Self.run(clock: clock) { endpoint, issuer, server in
                let token = try Self.token(server, by: Self.first, id: "k1")
                #expect(try await endpoint.subject(of: token, nonce: nil) == "person-1")
                let other = try Self.second.jwk("k2")
                issuer.keys.withLock { $0 = [other] }
                clock.advance(by: .seconds(599))
                #expect(try await endpoint.subject(of: token, nonce: nil) == "person-1")

                clock.advance(by: .seconds(1))

                await #expect(throws: IDTokenError(.untrusted, "")) {
                    try await endpoint.subject(of: token, nonce: nil)
                }
            }
        }

        @Test func `tokens that name keys at random have them fetched once a minute at most`() async throws {
            try await Self.run { endpoint, _, server in
                for number in 0..<5 {
                    let token = try Self.token(server, by: Self.second, id: "x\(number)")
                    await #expect(throws: IDTokenError(.untrusted, "")) {
                        try await endpoint.subject(of: token, nonce: nil)
                    }
                }
                #expect(Self.fetches(server) == 2)
            }
        }

        @Test func `a known key with a wrong signature is no reason to fetch`() async throws {
            try await Self.run { endpoint, _, server in
                let token = try Self.token(server, by: Self.second, id: "k1")
                await #expect(throws: IDTokenError(.untrusted, "")) {
                    try await endpoint.subject(of: token, nonce: nil)
                }
                #expect(Self.fetches(server) == 1)
            }
        }

        @Test func `a token or a key without a name is verified by whatever key fits`() async throws {
            try await Self.run { endpoint, issuer, server in
                let nameless = try Self.second.jwk(nil)
                let named = try Self.first.jwk("k1")
                issuer.keys.withLock { $0 = [named, #"{"kty":"oct","k":"AA"}"#, #"{"kty":"EC"}"#, "7", nameless] }
                for (key, id) in [(Self.first, nil), (Self.second, nil), (Self.second, "k2")] as [(IDTokenKey, String?)]
                {
                    let token = try Self.token(server, by: key, id: id)
                    #expect(try await endpoint.subject(of: token, nonce: nil) == "person-1")
                }
                #expect(Self.fetches(server) == 1)
            }
        }

        @Test func `many tokens at once share one fetch`() async throws {
            try await Self.run { endpoint, _, server in
                let token = try Self.token(server, by: Self.first, id: "k1")
                await withTaskGroup(of: String?.self) { group in
                    for _ in 0..<32 { group.addTask { try? await endpoint.subject(of: token, nonce: nil) } }
                    for await subject in group { #expect(subject == "person-1") }
                }
                #expect(Self.fetches(server) == 1)
            }
        }

        @Test(arguments: [
            http("500 Internal Server Error", ""), http("200 OK", ""), http("200 OK", "<html>"), http("200 OK", "[]"),
            http("200 OK", #"{"keys":{}}"#), http("200 OK", #"{"keys":[],"keys":[]}"#),
            http("200 OK", #"{"keys":[]}"#, "Content-Encoding: gzip"), http("302 Found", "", "Location: /other"), "",
        ])
        func `without usable keys nothing is validated, and the next token has them fetched again`(
            response: String
        ) async throws {
            let log = RecordingLog()
            try await Self.run(log: log) { endpoint, issuer, server in
                issuer.keyDocument.withLock { $0 = response }
                let token = try Self.token(server, by: Self.first, id: "k1")
                await #expect(throws: IDTokenError(.keysUnavailable, "")) {
                    try await endpoint.subject(of: token, nonce: nil)
                }
                issuer.keyDocument.withLock { $0 = nil }
                #expect(try await endpoint.subject(of: token, nonce: nil) == "person-1")
            }
            let told = log.lines.filter { $0.hasPrefix("warning provider's keys can't be fetched") }
            #expect(told.count == 1)
            #expect(told.first?.contains("/keys") == true)
        }

        @Test func `a set of keys may be larger than a token response, but not as large as it likes`() async throws {
            for (size, isRead) in [(100_000, true), (300_000, false)] {
                try await Self.run { endpoint, issuer, server in
                    let padding = #""x5c":["\#(String(repeating: "A", count: size))"],"#
                    let large = try Self.first.jwk("k1", also: padding)
                    issuer.keys.withLock { $0 = [large] }
                    let token = try Self.token(server, by: Self.first, id: "k1")
                    let subject = try? await endpoint.subject(of: token, nonce: nil)
                    #expect(subject == (isRead ? "person-1" : nil))
                }
            }
        }

        @Test func `keys that no library should take end nothing`() async throws {
            try await Self.run { endpoint, issuer, server in
                let rsa = #"{"kid":"k1","kty":"RSA","n":"NNN","e":"EEE"}"#
                let short = try IDTokenKey.rsa(_RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1024))).jwk("k1")
                issuer.keys.withLock { keys in
                    keys = [
                        rsa, rsa.replacing("NNN", with: "AQAB"), rsa.replacing("EEE", with: "AA"), short,
                        #"{"kid":"k1","kty":"EC","crv":"P-256","x":"","y":""}"#,
                        #"{"kid":"k1","kty":"EC","crv":"P-256","x":"AAAA","y":"%%"}"#,
                        #"{"kid":"k1","kty":"OKP","crv":"Ed25519","x":"AA"}"#,
                        #"{"kid":"k1","kty":"OKP","crv":"X25519","x":"AA"}"#,
                    ]
                }
                let claims = try SigningIssuer.claims(server.origin)
                for algorithm in ["RS256", "PS512", "ES256", "EdDSA"] {
                    for length in [0, 1, 64, 128, 256] {
                        let token = try SigningIssuer.token(claims, header: ["alg": algorithm, "kid": "k1"]) { _ in
                            Data(repeating: 1, count: length)
                        }
                        await #expect(throws: IDTokenError(.untrusted, "")) {
                            try await endpoint.subject(of: Secret(token), nonce: nil)
                        }
                    }
                }
            }
        }

        @Test func `an issuer that can't be asked, or is not configured, has no keys`() async throws {
            let token = Secret(
                try SigningIssuer.token(SigningIssuer.claims("https://a.example"), by: Self.first, "ES256")
            )
            let nobody = try ProviderIssuer("http://127.0.0.1:\(ScriptedServer.refusingPort)")
            try await withEndpoint(.discovered(nobody)) { endpoint in
                await #expect(throws: IDTokenError(.keysUnavailable, "")) {
                    try await endpoint.subject(of: token, nonce: nil)
                }
            }
            try await withEndpoint(at: "https://a.example") { endpoint in
                await #expect(throws: IDTokenError(.keysUnavailable, "")) {
                    try await endpoint.subject(of: token, nonce: nil)
                }
            }
        }

        @Test func `nothing of a token is logged`() async throws {
            let log = RecordingLog()
            try await Self.run(log: log) { endpoint, _, server in
                let good = try Self.token(server, by: Self.first, id: "k1")
                let bad = Secret(
                    try SigningIssuer.token(
                        SigningIssuer.claims(server.origin, #"{"sub":"canary","aud":"canary"}"#),
                        by: Self.first,
                        "ES256"
                    )
                )
                _ = try await endpoint.subject(of: good, nonce: nil)
                _ = try? await endpoint.subject(of: bad, nonce: nil)
            }
            #expect(log.lines.count { $0.hasPrefix("debug provider's keys were fetched") } == 1)
            #expect(!log.lines.contains { $0.contains("canary") || $0.contains("person-1") || $0.contains("eyJ") })
        }
    }
}
