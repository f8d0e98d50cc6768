import Foundation
import TestKit
import Testing

/// Secrets that belong to another user than the gateway, as a file does that is mounted into a container.
@Suite(.enabled(if: geteuid() == 0 && FileManager.default.fileExists(atPath: "/usr/bin/setpriv")))
struct MountedSecretTests {
    /// Checks a configuration whose client secret has this owner and mode, as user 10001.
    private func check(owner: UInt32, mode: Int) async throws -> Program.Outcome {
        let directory = try TemporaryDirectory()
        let text = """
            state_dir: /nonexistent
            providers:
              mock: { issuer: "https://127.0.0.1:9", client_id: me, client_secret: { file: secret } }
            accounts:
              alice: { provider: mock }
            routes:
              - { name: acme, match: { path: /acme/ }, upstream: "https://127.0.0.1:9/", account: alice }
            """
        try directory.write(Array(text.utf8), to: "martlet.yaml")
        try directory.write(Array("canary-of-a-mounted-secret\n".utf8), to: "secret")
        try directory.setMode(mode, of: "secret")
        let given = unsafe chown(directory.path(of: "secret"), owner, owner)
        try #require(given == 0)
        try directory.setMode(0o644, of: "martlet.yaml")
        try directory.setMode(0o755, of: "")
        let user = ["--reuid", "10001", "--regid", "10001", "--clear-groups", Program.path(of: "martlet")]
        return try await Program.run("/usr/bin/setpriv", user + ["check", "--config", "martlet.yaml"], in: directory)
    }

    @Test(arguments: [0o644, 0o444])
    func `a file of the host's user that only that one can write is taken, with a warning`(mode: Int) async throws {
        let outcome = try await self.check(owner: 1000, mode: mode)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        let said = outcome.output + outcome.errors
        let found = "(mode 0\(String(mode, radix: 8)), owner 1000, and this process is user 10001)"
        #expect(said.contains("secret belongs to another user, who can change it \(found)"), "\(said)")
        #expect(!said.contains("canary"))
    }

    @Test func `a file of the host's user that others can write is refused, and the way out is named`() async throws {
        let outcome = try await self.check(owner: 1000, mode: 0o664)
        #expect(outcome.exitCode == 78)
        let found = "(mode 0664, owner 1000, and this process is user 10001)"
        #expect(outcome.errors.contains(found), "\(outcome.errors)")
        #expect(outcome.errors.contains("chmod go-w"), "\(outcome.errors)")
    }

    @Test func `a file that only the host's user can read is refused, and the way out is named`() async throws {
        let outcome = try await self.check(owner: 1000, mode: 0o600)
        #expect(outcome.exitCode == 78)
        let found = "Permission denied (mode 0600, owner 1000, and this process is user 10001)"
        #expect(outcome.errors.contains(found), "\(outcome.errors)")
        #expect(outcome.errors.contains("in a container run as its owner (--user 1000)"), "\(outcome.errors)")
    }

    /// Checks a configuration whose admin token file is here, belongs to user 1000 and has mode 0644, as user 10001.
    private func check(tokenFile: String) async throws -> Program.Outcome {
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.path(of: "state"),
            withIntermediateDirectories: false
        )
        let path = directory.path(of: tokenFile)
        let text = """
            state_dir: state
            admin: { token_file: "\(path)" }
            providers:
              mock: { issuer: "https://127.0.0.1:9", client_id: me, client_secret: { file: secret } }
            accounts:
              alice: { provider: mock }
            routes:
              - { name: acme, match: { path: /acme/ }, upstream: "https://127.0.0.1:9/", account: alice }
            """
        try directory.write(Array(text.utf8), to: "martlet.yaml")
        try directory.write(Array("canary-of-a-mounted-secret\n".utf8), to: "secret")
        try directory.write(Array("canary-of-a-mounted-token\n".utf8), to: tokenFile)
        let owned = unsafe chown(directory.path(of: "secret"), 10_001, 10_001)
        try #require(owned == 0)
        try directory.setMode(0o600, of: "secret")
        let given = unsafe chown(path, 1000, 1000)
        try #require(given == 0)
        for name in [tokenFile, "martlet.yaml"] { try directory.setMode(0o644, of: name) }
        for name in ["state", ""] { try directory.setMode(0o755, of: name) }
        let user = ["--reuid", "10001", "--regid", "10001", "--clear-groups", Program.path(of: "martlet")]
        return try await Program.run("/usr/bin/setpriv", user + ["check", "--config", "martlet.yaml"], in: directory)
    }

    @Test func `an admin token file of the host's user is taken outside of state_dir, with a warning`() async throws {
        let outcome = try await self.check(tokenFile: "mounted.token")
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        let said = outcome.output + outcome.errors
        #expect(said.contains("mounted.token belongs to another user, who can change it"), "\(said)")
        #expect(!said.contains("canary"))
    }

    @Test func `an admin token file of another user's under state_dir is refused`() async throws {
        let outcome = try await self.check(tokenFile: "state/admin.token")
        #expect(outcome.exitCode == 78)
        let found = "admin.token belongs to another user, and Martlet makes it by itself (mode 0644, owner 1000"
        #expect(outcome.errors.contains(found), "\(outcome.errors)")
        #expect(!(outcome.output + outcome.errors).contains("canary"))
    }

    @Test func `a file of root's is taken without a word`() async throws {
        let outcome = try await self.check(owner: 0, mode: 0o644)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        #expect(!(outcome.output + outcome.errors).contains("another user"))
    }
}
