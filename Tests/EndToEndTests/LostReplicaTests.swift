import Foundation
import Glibc
import TestKit
import Testing

/// Kills with three gateways on one store, one of which does not acknowledge.
@Suite struct LostReplicaTests {
    /// How long a kill waits for a silent replica: its lease of 12 s plus one hundredth, plus 1 s.
    private static let silence = Duration.milliseconds(13_120)

    private static func gateway(_ name: String, _ mock: Mock, in directory: TemporaryDirectory) async throws -> Gateway
    {
        // A kill and what follows it must fit into the lease, also on a slow machine.
        try await Gateway(mock, in: directory, more: "replica: { name: \(name), lease: 12s }")
    }

    private static func isComplete(_ gateway: Gateway) async throws -> Bool {
        try await gateway.martlet("kills").output.contains("complete:")
    }

    @Test
    func
        `I3_I4_a kill with one of three at a standstill is pending, complete past its lease, and that one sends nothing`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let asked = try await Self.gateway("asked", mock, in: directory)
        try await asked.importGrant(from: mock)
        let other = try await Self.gateway("other", mock, in: directory)
        let stopped = try await Self.gateway("stopped", mock, in: directory)
        for gateway in [asked, other, stopped] { #expect(try await gateway.statuses(1, "echo") == ["200": 1]) }
        stopped.program.signal(SIGSTOP)
        let start = ContinuousClock.now

        let kill = try await asked.martlet("kill", "--all", "--reason", "drill", "--wait", "1s")

        #expect(kill.exitCode == 1)
        #expect(kill.output.contains("stopped: pending"))
        #expect(try await other.curl("echo").contains("urn:martlet:error:killed"))
        try await eventually("the kill to be complete") { try await Self.isComplete(asked) }
        #expect(start.duration(to: .now) >= Self.silence)
        // Those that have acknowledged it are not named.
        let kills = try await asked.martlet("kills")
        #expect(kills.output.contains("stopped: lease_expired"))
        #expect(!kills.output.contains("other: "))

        // These requests are in the listen queue of the stopped gateway when it continues.
        let late = (0..<4).map { _ in Task { try await stopped.curl("echo") } }
        try await eventually("the requests to be with its kernel") { try Self.unread(at: stopped) == late.count }
        stopped.program.signal(SIGCONT)
        for one in late {
            let answer = try await one.value
            #expect(answer.contains("error:killed") || answer.contains("error:store_lost"))
        }
        let stats = try await mock.stats()
        #expect(stats.api_requests.ok == 3)
        #expect(stats.dead_uses.isEmpty)
    }

    @Test func `I4_a kill waits for the lease of a replica that can read but not write, though it is fenced`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let asked = try await Self.gateway("asked", mock, in: directory)
        try await asked.importGrant(from: mock)
        let other = try await Self.gateway("other", mock, in: directory)
        // A file size limit makes every write fail. The signal that the limit causes (SIGXFSZ) is ignored.
        let mute = try await Program.$wrapper.withValue(["/usr/bin/env", "--ignore-signal=XFSZ"]) {
            try await Self.gateway("mute", mock, in: directory)
        }
        for gateway in [asked, other, mute] { #expect(try await gateway.statuses(1, "echo") == ["200": 1]) }
        let limit = try await Program.run(
            "/usr/bin/prlimit",
            ["--pid", "\(mute.program.id)", "--fsize=1"],
            in: directory
        )
        try #require(limit.exitCode == 0)
        let start = ContinuousClock.now

        let kill = try await asked.martlet("kill", "--all", "--reason", "drill", "--wait", "1s")

        #expect(kill.exitCode == 1)
        #expect(kill.output.contains("mute: pending"))
        #expect(try await mute.curl("echo").contains("urn:martlet:error:killed"))
        try await eventually("the kill to be complete") { try await Self.isComplete(asked) }
        #expect(start.duration(to: .now) >= Self.silence)
        #expect(try await !asked.martlet("kills").output.contains("other: "))
        #expect(try await mute.curl("echo").contains("urn:martlet:error:"))
        #expect(try await mock.stats().dead_uses.isEmpty)
    }

    @Test func `a forgotten replica is removed when its lease ends, and joins again when it continues`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let asked = try await Self.gateway("asked", mock, in: directory)
        let lost = try await Self.gateway("lost", mock, in: directory)
        lost.program.signal(SIGSTOP)

        let forgotten = try await asked.martlet("replicas", "forget", "lost")
        #expect(forgotten.exitCode == 0)
        #expect(forgotten.output.contains("lost is expelled"))
        #expect(try await asked.martlet("replicas").output.contains("lost (expelled)"))
        try await eventually("it to be forgotten") {
            try await !asked.martlet("replicas", "list").output.contains("lost")
        }
        #expect(try await asked.martlet("replicas", "forget", "lost").exitCode == 64)
        lost.program.signal(SIGCONT)
        try await eventually("it to join anew") {
            try await asked.martlet("replicas", "list").output.contains("lost")
        }
    }

    /// The number of connections to a gateway that have unread bytes (`/proc/net/tcp`, proc(5)).
    private static func unread(at gateway: Gateway) throws -> Int {
        // The file has no size and a read may return less than requested, so this reads to the end.
        let file = try #require(FileHandle(forReadingAtPath: "/proc/net/tcp"))
        let table = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        let port = ":" + String(format: "%04X", try #require(URL(string: gateway.callers)?.port))
        return table.split(separator: "\n").count { line in
            let fields = line.split(separator: " ")
            guard fields.count > 4, fields[1].hasSuffix(port) else { return false }
            return fields[3] == "01" && !fields[4].hasSuffix(":00000000")
        }
    }
}
