import Foundation
import TestKit
import Testing

/// Secret files that belong to another user than the gateway's, like a file that is mounted into a container.
@Suite(.enabled(if: geteuid() == 0 && FileManager.default.fileExists(atPath: "/usr/bin/setpriv")))
struct MountedSecretTests {
    /// Runs `check` as user 10001 on a configuration whose client secret file has this owner and mode.
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
    func `a file that only its owner, the host's user, can write is accepted with a warning`(mode: Int) async throws {
        let outcome = try await self.check(owner: 1000, mode: mode)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        let said = outcome.output + outcome.errors
        let found = "(mode 0\(String(mode, radix: 8)), owner 1000, and this process is user 10001)"
        #expect(said.contains("secret belongs to another user, who can change it \(found)"), "\(said)")
        #expect(!said.contains("canary"))
    }

    @Test func `a file of the host's user that others can write is refused, and the error names a fix`() async throws {
        let outcome = try await self.check(owner: 1000, mode: 0o664)
        #expect(outcome.exitCode == 78)
        let found = "(mode 0664, owner 1000, and this process is user 10001)"
        #expect(outcome.errors.contains(found), "\(outcome.errors)")
        #expect(outcome.errors.contains("chmod go-w"), "\(outcome.errors)")
    }

    @Test func `a file that only the host's user can read is refused, and the error names a fix`() async throws {
        let outcome = try await self.check(owner: 1000, mode: 0o600)
        #expect(outcome.exitCode == 78)
        let found = "Permission denied (mode 0600, owner 1000, and this process is user 10001)"
        #expect(outcome.errors.contains(found), "\(outcome.errors)")
        #expect(outcome.errors.contains("in a container run as its owner (--user 1000)"), "\(outcome.errors)")
    }

    /// Runs `check` as user 10001 on a configuration whose admin token file is `tokenFile`, belongs to user 1000 and
    /// has mode 0644.
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

    @Test func `an admin token file of the host's user outside state_dir is accepted with a warning`() async throws {
        let outcome = try await self.check(tokenFile: "mounted.token")
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        let said = outcome.output + outcome.errors
        #expect(said.contains("mounted.token belongs to another user, who can change it"), "\(said)")
        #expect(!said.contains("canary"))
    }

    @Test func `another user's admin token file under state_dir is refused`() async throws {
        let outcome = try await self.check(tokenFile: "state/admin.token")
        #expect(outcome.exitCode == 78)
        let found = "admin.token belongs to another user, and Martlet makes it by itself (mode 0644, owner 1000"
        #expect(outcome.errors.contains(found), "\(outcome.errors)")
        #expect(!(outcome.output + outcome.errors).contains("canary"))
    }

    @Test func `a file that belongs to root is accepted without a warning`() async throws {
        let outcome = try await self.check(owner: 0, mode: 0o644)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        #expect(!(outcome.output + outcome.errors).contains("another user"))
    }
}
