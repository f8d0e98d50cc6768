import Foundation
import TestKit
import Testing

/// A store whose key is not simply a file.
@Suite struct SealingKeyTests {
    private let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    private func martlet(_ arguments: String..., input: String? = nil) async throws -> Program.Outcome {
        try await Program.run("martlet", arguments + ["--config", "martlet.yaml"], in: self.directory, input: input)
    }

    /// A store that a gateway has made with a key file, which stays in the directory as `kept.key`.
    private func makeStore() async throws {
        let mock = try await Mock(in: self.directory)
        let gateway = try await Gateway(mock, in: self.directory)
        try await gateway.importGrant(from: mock)
        gateway.program.signal(15)
        #expect(try await gateway.program.ended().exitCode == 0)
        try self.directory.move("state/sealing.key", to: "kept.key")
        withExtendedLifetime(mock) {}
    }

    /// Names another origin of the key in the configuration.
    private func configure(_ form: String) throws {
        let text = String(decoding: try #require(self.directory.bytes(of: "martlet.yaml")), as: UTF8.self)
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("store:") }
        let changed = (lines + ["store: { sealing_key: \(form) }"]).joined(separator: "\n")
        try self.directory.write(Array(changed.utf8), to: "martlet.yaml")
    }

    /// A form of the key that runs a shell script.
    private func command(_ script: String) throws -> String {
        let path = try TestKit.write("\(script)\n", to: self.directory.path(of: "pass.sh"))
        return "{ command: [sh, \"\(path)\"] }"
    }

    private func passphrase(_ text: String, in name: String) throws -> String {
        try TestKit.write("\(text)\n", to: self.directory.path(of: name), mode: 0o600)
    }

    @Test func `a gateway and commands have the key from a password manager`() async throws {
        let mock = try await Mock(in: self.directory)
        let key = try Program.key()
        let command = try self.command("echo run >> \"\(self.directory.path(of: "runs"))\"\necho \(key)")
        let gateway = try await Gateway(mock, in: self.directory, more: "store: { sealing_key: \(command) }")
        try await gateway.importGrant(from: mock)
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
        #expect(self.directory.bytes(of: "runs") == Array("run\n".utf8))

        let verified = try await self.martlet("store", "verify")
        #expect(verified.exitCode == 0, "\(verified.errors)")
        // Nobody is asked when a file is only looked at.
        let checked = try await self.martlet("check")
        #expect(checked.exitCode == 0, "\(checked.errors)")
        #expect(self.directory.bytes(of: "runs") == Array("run\nrun\n".utf8))
        let rekeyed = try await self.martlet("store", "rekey")
        #expect(rekeyed.exitCode == 78)
        #expect(rekeyed.errors.contains("put the key in a file"), "\(rekeyed.errors)")
        #expect(self.directory.bytes(of: "state/sealing.key") == nil)
        withExtendedLifetime(mock) {}
    }

    @Test func `a password manager gets no secret of the gateway`() async throws {
        try await self.makeStore()
        let script =
            "env > \"\(self.directory.path(of: "env"))\"\ngrep -v '#' \"\(self.directory.path(of: "kept.key"))\" | tail -n 1"
        try self.configure(try self.command(script))

        let verified = try await Program.$wrapper.withValue([
            "/usr/bin/env", "MARTLET_ADMIN_TOKEN=canary", "NOTIFY_SOCKET=/canary", "COLOUR=blue",
        ]) { try await self.martlet("store", "verify") }

        #expect(verified.exitCode == 0, "\(verified.errors)")
        let seen = String(decoding: try #require(self.directory.bytes(of: "env")), as: UTF8.self)
        #expect(seen.contains("COLOUR=blue\n"))
        #expect(!seen.contains("canary"))
    }

    @Test func `a password manager that says no is quoted`() async throws {
        try await self.makeStore()
        try self.configure(try self.command("echo 'gpg: decryption failed' >&2\nexit 2"))

        let outcome = try await self.martlet("store", "verify")

        #expect(outcome.exitCode == 69)
        #expect(outcome.errors.contains("the command sh: exit code 2: gpg: decryption failed"), "\(outcome.errors)")
    }

    @Test func `a credential needs a service`() async throws {
        try await self.makeStore()
        try self.configure("{ credential: martlet-key }")

        let outside = try await self.martlet("store", "verify")
        #expect(outside.exitCode == 78)
        #expect(outside.errors.contains("LoadCredential=martlet-key:PATH"), "\(outside.errors)")

        try self.directory.move("kept.key", to: "martlet-key")
        let inside = try await Program.$wrapper.withValue([
            "/usr/bin/env", "CREDENTIALS_DIRECTORY=\(self.directory.path)",
        ]) { try await self.martlet("store", "verify") }
        #expect(inside.exitCode == 0, "\(inside.errors)")
    }

    @Test func `a store goes over from a key file to a passphrase, and back`() async throws {
        try await self.makeStore()
        let first = try self.passphrase("correct horse battery", in: "first")
        let second = try self.passphrase("another one, longer", in: "second")
        try self.configure("{ passphrase: true }")
        let made = try await self.martlet(
            "store",
            "passphrase",
            "--from-key-file",
            "kept.key",
            "--new-passphrase-file",
            first
        )
        #expect(made.exitCode == 0, "\(made.errors)")

        let verified = try await self.martlet("store", "verify", "--passphrase-file", first)
        #expect(verified.exitCode == 0, "\(verified.errors)")
        let wrong = try await self.martlet("store", "verify", "--passphrase-file", second)
        #expect(wrong.exitCode == 77)
        #expect(wrong.errors.contains("wrong passphrase"), "\(wrong.errors)")
        let unasked = try await self.martlet("store", "verify")
        #expect(unasked.exitCode == 64)
        #expect(unasked.errors.contains("--passphrase-file names a file"), "\(unasked.errors)")
        let rekeyed = try await self.martlet("store", "rekey", "--passphrase-file", first)
        #expect(rekeyed.exitCode == 78)
        #expect(rekeyed.errors.contains("martlet store passphrase --to-key-file PATH"), "\(rekeyed.errors)")

        let changed = try await self.martlet(
            "store",
            "passphrase",
            "--passphrase-file",
            first,
            "--new-passphrase-file",
            second
        )
        #expect(changed.exitCode == 0, "\(changed.errors)")
        let audited = try await self.martlet("audit", "--store", "--passphrase-file", second)
        #expect(audited.exitCode == 0, "\(audited.errors)")
        let written = try await self.martlet(
            "store",
            "passphrase",
            "--passphrase-file",
            second,
            "--to-key-file",
            "back.key"
        )
        #expect(written.exitCode == 0, "\(written.errors)")
        #expect(self.directory.bytes(of: "back.key") == self.directory.bytes(of: "kept.key"))
        for outcome in [made, verified, wrong, changed, audited, written] {
            #expect(!(outcome.output + outcome.errors).contains("horse"))
        }
    }

    @Test func `no envelope with a new key is made beside a store that has its own`() async throws {
        try await self.makeStore()
        try self.configure("{ file: \(self.directory.path(of: "kept.key")) }")

        let passphrase = try self.passphrase("correct horse battery", in: "first")
        let outcome = try await self.martlet("store", "passphrase", "--new-passphrase-file", passphrase)

        #expect(outcome.exitCode == 64)
        #expect(outcome.errors.contains("--from-key-file"), "\(outcome.errors)")
        #expect(self.directory.bytes(of: "state/sealing.envelope") == nil)
    }

    @Test func `an envelope never gets keys that don't open the store`() async throws {
        try await self.makeStore()
        try self.configure("{ passphrase: true }")
        let first = try self.passphrase("correct horse battery", in: "first")
        try TestKit.write("\(try Program.key())\n", to: self.directory.path(of: "other.key"), mode: 0o600)
        func make(_ more: String...) async throws -> Program.Outcome {
            try await Program.run(
                "martlet",
                ["store", "passphrase", "--config", "martlet.yaml", "--new-passphrase-file", first] + more,
                in: self.directory
            )
        }

        let drawn = try await make()
        #expect(drawn.exitCode == 78)
        #expect(
            drawn.errors.contains("the store is sealed already, and a new key would not open it"),
            "\(drawn.errors)"
        )
        let foreign = try await make("--from-key-file", "other.key")
        #expect(foreign.exitCode == 78)
        #expect(foreign.errors.contains("wrong sealing key in other.key"), "\(foreign.errors)")
        #expect(self.directory.bytes(of: "state/sealing.envelope") == nil)

        let made = try await make("--from-key-file", "kept.key")
        #expect(made.exitCode == 0, "\(made.errors)")
        let envelope = self.directory.bytes(of: "state/sealing.envelope")
        let replaced = try await make("--from-key-file", "other.key", "--passphrase-file", first)
        #expect(replaced.exitCode == 78)
        #expect(self.directory.bytes(of: "state/sealing.envelope") == envelope)
        let again = try await make("--from-key-file", "kept.key", "--passphrase-file", first)
        #expect(again.exitCode == 0, "\(again.errors)")
        #expect(self.directory.bytes(of: "state/sealing.envelope.old") == envelope)
    }

    @Test func `a store that is new gets an envelope with a new key`() async throws {
        let mock = try await Mock(in: self.directory)
        let gateway = try await Gateway(mock, in: self.directory)
        gateway.program.signal(15)
        _ = try await gateway.program.ended()
        for file in ["tokens.db", "tokens.db-wal", "tokens.db-shm"] { try? self.directory.remove("state/\(file)") }
        try self.configure("{ passphrase: true }")
        let first = try self.passphrase("correct horse battery", in: "first")

        let made = try await self.martlet("store", "passphrase", "--new-passphrase-file", first)

        #expect(made.exitCode == 0, "\(made.errors)")
        #expect(self.directory.bytes(of: "state/sealing.envelope") != nil)
        withExtendedLifetime(mock) {}
    }
}

extension Program {
    /// A new sealing key.
    fileprivate static func key() throws -> String {
        Data((0..<32).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
    }
}
