import Foundation
import Glibc
import TestKit
import Testing

/// What a crashed gateway reveals of the tokens in its memory.
@Suite struct CrashedMemoryTests {
    /// Allows a core dump and enables the crash handler of the Swift runtime. The runtime catches crashes only if it
    /// knows a backtrace program, and finds none for statically linked programs. This wrapper names one, which never
    /// runs.
    private static let talkative = [
        "/bin/sh", "-c", #"ulimit -c unlimited 2>/dev/null; exec "$@""#, "sh",
        "/usr/bin/env", "SWIFT_BACKTRACE=enable=yes,swift-backtrace=/bin/true",
    ]

    /// The signals that a process catches, out of those that the Swift runtime treats as crashes.
    private static func caughtCrashes(_ process: Int32) throws -> Set<Int32> {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("SigCgt:") })
        let digits = try #require(line.split(whereSeparator: \.isWhitespace).last)
        let mask = try #require(UInt64(digits, radix: 16))
        return Set([SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP].filter { mask >> UInt64($0 - 1) & 1 == 1 })
    }

    @Test func `I16_a gateway catches none of its crash signals, unlike another Swift program`() async throws {
        let directory = try TemporaryDirectory()
        let (mock, gateway) = try await Program.$wrapper.withValue(Self.talkative) {
            let mock = try await Mock(in: directory)
            return (mock, try await Gateway(mock, in: directory))
        }
        let unguarded = try Self.caughtCrashes(mock.id)
        let guarded = try Self.caughtCrashes(gateway.program.id)

        // Otherwise the next check would prove nothing.
        #expect(unguarded == [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP])
        #expect(guarded == [])
    }

    @Test(arguments: [SIGABRT, SIGSEGV, SIGILL, SIGTRAP])
    func `I16_a gateway that crashes prints no tokens and leaves no core dump`(number: Int32) async throws {
        // Given a gateway that has used an account's tokens, on a system with crash handling enabled
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let gateway = try await Program.$wrapper.withValue(Self.talkative) {
            try await Gateway(mock, in: directory)
        }
        var scan = CanaryScan()
        let grant = try await mock.grant("alice")
        let members = try #require(try JSONSerialization.jsonObject(with: Data(grant.utf8)) as? [String: Any])
        for kind in ["refresh_token", "access_token"] {
            scan.add("the \(kind)", try #require(members[kind] as? String))
        }
        for file in ["admin.token", "sealing.key"] {
            let bytes = try #require(directory.bytes(of: "state/\(file)"))
            let text = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).last
            scan.add("what stands in \(file)", String(try #require(text)), home: file)
        }
        let imported = try await gateway.martlet("accounts", "import", "alice", input: grant)
        try #require(imported.exitCode == 0, "\(imported.errors)")
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])

        // Otherwise the runtime would wait for the backtrace program, which does nothing.
        try #require(try Self.caughtCrashes(gateway.program.id) == [])

        // When it crashes
        gateway.program.signal(number)
        let ended = try await gateway.program.ended()

        // Then only that signal ended it, and its output and files contain no secret
        #expect(ended.exitCode == number)
        for words in ["Backtracing from", "Backtrace took", "Registers:"] {
            #expect(!(ended.errors + ended.output).contains(words), "\(words)")
        }
        #expect(try directory.contents().filter { $0.hasPrefix("core") } == [])
        scan.look(at: ended.errors, in: "standard error")
        scan.look(at: ended.output, in: "standard output")
        try scan.look(into: directory.path(of: "state"))
        #expect(scan.findings == [])
        withExtendedLifetime(mock) {}
    }
}
