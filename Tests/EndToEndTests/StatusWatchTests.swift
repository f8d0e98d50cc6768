import TestKit
import Testing

/// What commands show of a gateway over time.
@Suite struct StatusWatchTests {
    private static func blocks(_ program: Program) -> Int {
        program.written.split(separator: "\n").count { $0.hasPrefix("martlet ") }
    }

    @Test func `a watch continues while the gateway does not respond, and SIGINT ends it with success`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        let token = directory.path(of: "state/admin.token")
        let arguments = ["status", "--watch", "--admin", gateway.admin, "--admin-token-file", token]
        let watch = try Program("martlet", arguments, in: directory)
        try await eventually("two blocks") { Self.blocks(watch) >= 2 }
        #expect(watch.written.hasPrefix("20"))
        #expect(!watch.written.contains("\u{1B}"))

        // Given a gateway that does not respond for a while
        gateway.program.signal(19)
        try await eventually("it to be said") {
            watch.written.contains("asking again each second; its last answer was")
        }
        let before = Self.blocks(watch)
        gateway.program.signal(18)
        try await eventually("another block") { Self.blocks(watch) > before }

        watch.signal(2)
        let ended = try await watch.ended()
        #expect(ended.exitCode == 0)
        #expect(ended.errors.isEmpty, "\(ended.errors)")
        withExtendedLifetime(mock) {}
    }

    @Test func `a wrong token ends a watch because waiting would not help`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try directory.write(Array("wrong\n".utf8), to: "wrong")
        try directory.setMode(0o600, of: "wrong")
        let arguments = ["status", "--watch", "--admin", gateway.admin, "--admin-token-file", "wrong"]
        let outcome = try await Program.run("martlet", arguments, in: directory)
        #expect(outcome.exitCode == 77)
        withExtendedLifetime(mock) {}
    }

    @Test func `a kill that waits names the replica and when its lease ends`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        let other = try await Gateway(mock, in: directory, more: "replica: { name: cut-off }")
        other.program.signal(19)
        defer { other.program.signal(18) }
        let kill = try await gateway.martlet("kill", "--all", "--reason", "drill", "--wait", "4s")
        #expect(kill.exitCode == 1)
        #expect(kill.errors.contains("pending: waiting for cut-off (its lease ends in "), "\(kill.errors)")
        withExtendedLifetime(mock) {}
    }
}
