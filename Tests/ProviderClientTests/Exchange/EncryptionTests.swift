import Foundation
import NIOPosix
import OAuth
import ProviderClient
import TestKit
import Testing
import TokenModel

extension LoopbackTests {
    @Suite struct EncryptionTests {
        private static let success = http("200 OK", #"{"access_token":"A2"}"#)

        /// Runs `body` with the path of a file that holds `text`.
        private static func withFile(_ text: String, _ body: (String) async throws -> Void) async throws {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("roots-\(UUID().uuidString).pem")
            try Data(text.utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            try await body(file.path)
        }

        @Test func `a private authority is trusted if it is configured`() async throws {
            let server = try await ScriptedServer(certificate: TestCertificates.valid) { _ in .bytes(Self.success) }
            try await Self.withFile(TestCertificates.authority) { authority in
                try await withEndpoint(at: server.origin, trusting: authority) { endpoint in
                    #expect(await endpoint.redeem().name == "success")
                }
            }
            #expect(server.requests.count == 1)
            await server.stop()
        }

        @Test(arguments: [
            ("unknown authority", TestCertificates.valid, false),
            ("another host", TestCertificates.forAnotherHost, true),
            ("expired", TestCertificates.expired, true),
        ])
        func `no byte of a request goes to a server that can't prove its identity`(
            why: String,
            certificate: String,
            trusted: Bool
        ) async throws {
            let server = try await ScriptedServer(certificate: certificate) { _ in .bytes(Self.success) }
            try await Self.withFile(TestCertificates.authority) { authority in
                try await withEndpoint(at: server.origin, trusting: trusted ? authority : nil) { endpoint in
                    #expect(await endpoint.redeem() == .notSent(.tlsFailed), "\(why)")
                    #expect(await endpoint.revoke(Secret("A1"), kind: .accessToken) == .unreachable(.tlsFailed))
                }
            }
            #expect(server.requests.isEmpty)
            // One connection for each call: nothing is retried after a verdict.
            #expect(server.acceptedConnections == 2)
            await server.stop()
        }

        @Test func `a server without TLS gets no request`() async throws {
            // The server waits for the end of a request that never comes. The handshake fails after two seconds.
            let server = try await ScriptedServer { _ in .bytes("HTTP/1.1 400 Bad Request\r\n\r\n") }
            try await withEndpoint(at: "https://127.0.0.1:\(server.port)") { endpoint in
                // Connecting and handshake share one time limit. Either of them may be named when the time is over.
                let verdict = await endpoint.redeem()
                #expect([.notSent(.tlsFailed), .notSent(.connectFailed)].contains(verdict))
            }
            #expect(server.requests.allSatisfy { !$0.head.contains("POST") })
            await server.stop()
        }

        private static let unframed = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\naccess_token=A2"

        @Test(arguments: [
            (ScriptedServer.Answer.bytes(unframed), true),
            (.torn(unframed), false),
        ])
        func `a body that ends with the connection is complete only after a TLS close alert`(
            answer: ScriptedServer.Answer,
            isWhole: Bool
        ) async throws {
            let server = try await ScriptedServer(certificate: TestCertificates.valid) { _ in answer }
            try await Self.withFile(TestCertificates.authority) { authority in
                try await withEndpoint(at: server.origin, trusting: authority) { endpoint in
                    let verdict = await endpoint.redeem()
                    if isWhole {
                        #expect(verdict.name == "success", "\(verdict)")
                    } else {
                        #expect(verdict == .ambiguous(.answerCutShort))
                    }
                }
            }
            await server.stop()
        }

        @Test func `unreadable roots are reported with the name of their file`() async throws {
            func make(_ file: String) throws {
                let metadata = ProviderMetadata(
                    tokenEndpoint: try ProviderURL("https://login.acme.example/token"),
                    revocationEndpoint: nil
                )
                _ = try HTTPTokenEndpoint(
                    ProviderSettings(
                        name: ProviderID("acme"),
                        endpoints: .named(metadata),
                        client: RegisteredClient(client),
                        trustRoots: file
                    ),
                    on: MultiThreadedEventLoopGroup.singleton,
                    logger: RecordingLog().logger
                )
            }
            let missing = #expect(throws: ProviderSettingsError.self) { try make("/nonexistent/roots.pem") }
            #expect(missing?.code == .trustRootsUnreadable)
            #expect(missing?.message.contains("/nonexistent/roots.pem") == true)

            try await Self.withFile("no certificate") { file in
                #expect(throws: ProviderSettingsError.self) { try make(file) }
            }
        }
    }
}
