import Foundation
import TestKit
import Testing

/// A fault that keeps the gateway from starting is reported in one line, with an exit code, and leaves nothing
/// half-started.
@Suite struct StartingTests {
    /// Runs `martlet serve` until it refuses to start.
    private func refusal(in directory: TemporaryDirectory) async throws -> Program.Outcome {
        let outcome = try await Program.run("martlet", ["serve", "--config", "martlet.yaml"], in: directory)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
        return outcome
    }

    @Test func `no configuration file`() async throws {
        let outcome = try await self.refusal(in: TemporaryDirectory())
        #expect(outcome.exitCode == 78)
        #expect(outcome.errors.contains("martlet.yaml"))
    }

    @Test func `a secret file that others can read`() async throws {
        let directory = try TemporaryDirectory()
        try Gateway.configure("http://127.0.0.1:9", in: directory)
        try directory.setMode(0o644, of: "client-secret")
        let outcome = try await self.refusal(in: directory)
        #expect(outcome.exitCode == 78)
        #expect(outcome.errors.contains("client-secret"))
        #expect(!outcome.errors.contains("mock-secret"))
    }

    @Test func `an address that is in use`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        try Gateway.configure(mock.address, in: directory)
        let text = try #require(directory.bytes(of: "martlet.yaml"))
        let port = try #require(mock.address.split(separator: ":").last)
        let busy = String(decoding: text, as: UTF8.self)
            .replacing("listeners: [{ address: 127.0.0.1:0 }]", with: "listeners: [{ address: 127.0.0.1:\(port) }]")
        try directory.write(Array(busy.utf8), to: "martlet.yaml")

        let outcome = try await self.refusal(in: directory)

        #expect(outcome.exitCode == 69)
        #expect(outcome.errors.contains("127.0.0.1:\(port)"))
    }

    @Test func `a sealing key that does not fit the store`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        gateway.program.signal(15)
        #expect(try await gateway.program.ended().exitCode == 0)
        let other = Data((0..<32).map { UInt8($0) }).base64EncodedString()
        try directory.write(Array("\(other)\n".utf8), to: "state/sealing.key")

        let outcome = try await self.refusal(in: directory)

        #expect(outcome.exitCode == 78)
        #expect(outcome.errors.contains("sealing.key"))
    }

    @Test func `check names five faults at once, each with its line and column`() async throws {
        let directory = try TemporaryDirectory()
        let text = """
            listeners: [{ address: 127.0.0.1:0 }]
            shutdown_grace: 30
            providers:
              mock: { issuer: "http://127.0.0.1:9", client_id: me, client_auth: none, timeuot: 3s }
            accounts:
              alice: { provider: mokc }
            routes:
              - name: acme
                match: { path: /acme/ }
                upsteam: http://127.0.0.1:9/
                upstream: http://127.0.0.1:9/
                account: bob
            """
        try directory.write(Array(text.utf8), to: "martlet.yaml")

        let outcome = try await Program.run("martlet", ["check", "--config", "martlet.yaml"], in: directory)

        #expect(outcome.exitCode == 78)
        let places = (outcome.output + outcome.errors).split(separator: "\n")
            .compactMap { $0.firstMatch(of: /martlet\.yaml:\d+:\d+/)?.output }
        #expect(places.map(String.init) == ["2:17", "4:75", "6:22", "10:5", "12:14"].map { "martlet.yaml:\($0)" })
        #expect((outcome.output + outcome.errors).contains(#"did you mean "upstream"?"#))
    }
}
