import Foundation
import TestKit
import Testing

/// `martlet store`, with and without a running gateway.
@Suite struct StoreCommandTests {
    private func store(_ arguments: String..., in directory: TemporaryDirectory) async throws -> Program.Outcome {
        try await Program.run("martlet", ["store"] + arguments + ["--config", "martlet.yaml"], in: directory)
    }

    @Test func `rekeying while a gateway runs does not affect its callers`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        #expect(try await gateway.martlet("accounts", "refresh", "alice").exitCode == 0)

        let before = try await self.store("verify", in: directory)
        #expect(before.exitCode == 0, "\(before.errors)")
        // The canary, the account, and any other records that a gateway keeps there.
        let count = try #require(before.output.split(separator: " ").first.flatMap { Int($0) })
        #expect(count >= 2)
        #expect(before.output.hasPrefix("\(count) of \(count) records open\n"))

        let rekeyed = try await self.store("rekey", in: directory)
        #expect(rekeyed.exitCode == 0, "\(rekeyed.errors)")
        // The audit log has a record before the change and one after it. The gateway may have encrypted its own records
        // under the new key before the command reaches them.
        #expect(rekeyed.output.contains("\n\(count + 1) records: "), "\(rekeyed.output)")
        #expect(rekeyed.output.contains(" sealed anew under key "))

        #expect(try await gateway.martlet("accounts", "refresh", "alice").exitCode == 0)
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
        let after = try await self.store("verify", "--json", in: directory)
        #expect(after.exitCode == 0, "\(after.errors)")
        let report = try JSONDecoder().decode(Report.self, from: Data(after.output.utf8))
        // The rekey and the refresh have two audit log records each.
        #expect(report.records == count + 4)
        #expect(report.opened == count + 4)
        #expect(report.unreadable.isEmpty)
        #expect(report.keys.map(\.role) == ["current", "older"])
        #expect(report.keys.map(\.records) == [count + 4, 0])
        // The older key stays until somebody retires it.
        let told = try await self.store("verify", in: directory)
        #expect(
            told.output.contains(
                " (older) seals 0 of \(count + 4) records; martlet store rekey --retire takes it out, unless a gateway still"
            ),
            "\(told.output)"
        )

        // The same holds after a restart.
        gateway.program.signal(15)
        _ = try await gateway.program.ended()
        let second = try await Gateway(mock, in: directory)
        #expect(try await second.statuses(1, "echo") == ["200": 1])
        #expect(try await mock.stats().reuse_detections == 0)
        withExtendedLifetime(mock) {}
    }

    @Test func `without a store or with a wrong key the commands fail and create nothing`() async throws {
        let directory = try TemporaryDirectory()
        try Gateway.configure("http://127.0.0.1:9", in: directory)
        for command in ["verify", "rekey"] {
            let outcome = try await self.store(command, in: directory)
            #expect(outcome.exitCode == 78)
            #expect(outcome.errors.contains("there is no such file"), "\(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
        #expect(directory.bytes(of: "state/tokens.db") == nil)
        #expect(directory.bytes(of: "state/sealing.key") == nil)

        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        gateway.program.signal(15)
        _ = try await gateway.program.ended()
        try directory.write(
            Array("\(Data(repeating: 7, count: 32).base64EncodedString())\n".utf8),
            to: "state/sealing.key"
        )
        try directory.setMode(0o600, of: "state/sealing.key")
        let foreign = try await self.store("verify", in: directory)
        #expect(foreign.exitCode == 78)
        #expect(foreign.errors.contains("wrong sealing key"), "\(foreign.errors)")
        withExtendedLifetime(mock) {}
    }

    @Test(arguments: ["verify", "rekey", "copy"])
    func `help has examples`(command: String) async throws {
        let directory = try TemporaryDirectory()
        let outcome = try await Program.run("martlet", ["store", command, "--help"], in: directory)
        #expect(outcome.exitCode == 0)
        #expect(outcome.output.contains("martlet store \(command) --config martlet.yaml"))
    }

    private struct Report: Decodable {
        struct Key: Decodable {
            let id: String
            let records: Int
            let role: String
        }

        let records: Int
        let opened: Int
        let unreadable: [[String: String]]
        let keys: [Key]
    }
}
