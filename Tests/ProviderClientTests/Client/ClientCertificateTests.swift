import Foundation
import OAuth
import ProviderClient
import TestKit
import Testing
import TokenModel

extension LoopbackTests {
    /// `tls_client_auth` (RFC 8705 §2.1).
    @Suite struct ClientCertificateTests {
        private static let client = RegisteredClient(clientID: "my-app", proofs: [.constant(.tlsClientAuth)])

        /// Runs `body` with the paths of files that hold `texts`, and that only their owner may read.
        private static func withFiles(_ texts: [String], _ body: ([String]) async throws -> Void) async throws {
            let directory = FileManager.default.temporaryDirectory.appendingPathComponent("client-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            let paths = try texts.enumerated().map { number, text in
                let file = directory.appendingPathComponent("\(number).pem").path
                let isMade = FileManager.default.createFile(
                    atPath: file,
                    contents: Data(text.utf8),
                    attributes: [.posixPermissions: 0o600]
                )
                try #require(isMade)
                return file
            }
            try await body(paths)
        }

        @Test func `a certificate goes to a provider that asks for one, and the form has only the client id`()
            async throws
        {
            let server = try await ScriptedServer(
                certificate: TestCertificates.valid,
                clientAuthority: TestCertificates.clientAuthority
            ) { _ in .bytes(http("200 OK", #"{"access_token":"A2"}"#)) }
            let texts = [TestCertificates.authority, TestCertificates.client, TestCertificates.clientKey]
            try await Self.withFiles(texts) { files in
                let identity = TLSIdentity(certificate: files[1], key: files[2])
                try await withEndpoint(
                    at: server.origin,
                    trusting: files[0],
                    as: Self.client,
                    showing: identity
                ) { endpoint in
                    #expect(await endpoint.redeem().name == "success")
                }
                try await withEndpoint(at: server.origin, trusting: files[0], as: Self.client) { endpoint in
                    #expect(await endpoint.redeem().name != "success")
                }
            }
            #expect(server.requests.map(\.isWhole) == [true])
            let form = server.requests.first?.body
            #expect(form == "grant_type=refresh_token&refresh_token=canary-refresh-token&client_id=my-app")
            await server.stop()
        }

        @Test func `a certificate and a key that do not match are refused before any request`() async throws {
            let texts = [TestCertificates.client, TestCertificates.serverKey, "no certificate"]
            try await Self.withFiles(texts) { files in
                let pairs = [
                    (files[0], files[1]), (files[2], files[1]), (files[0], files[2]), ("/nonexistent", files[1]),
                ]
                for (certificate, key) in pairs {
                    let error = await #expect(throws: ProviderSettingsError.self) {
                        try await withEndpoint(
                            at: "https://login.acme.example",
                            as: Self.client,
                            showing: TLSIdentity(certificate: certificate, key: key)
                        ) { _ in }
                    }
                    #expect(error?.code == .identityUnusable)
                    #expect(error?.message.contains(certificate) == true || error?.message.contains(key) == true)
                }
            }
        }
    }
}
