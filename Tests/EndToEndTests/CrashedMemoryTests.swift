import Foundation
import Glibc
import TestKit
import Testing

/// What a gateway that crashes leaves of the tokens in its memory.
@Suite struct CrashedMemoryTests {
    /// Allows a core, and asks the Swift runtime to print all that it can of a crash.
    private static let talkative = [
        "/bin/sh", "-c", #"ulimit -c unlimited 2>/dev/null; exec "$@""#, "sh",
        "/usr/bin/env", "SWIFT_BACKTRACE=enable=yes,color=no,interactive=no,threads=all,registers=all",
    ]

    @Test(arguments: [SIGABRT, SIGSEGV, SIGILL, SIGTRAP])
    func `I16_a gateway that crashes prints nothing of its tokens and leaves no core`(number: Int32) async throws {
        // Given a gateway that has used an account's tokens, on a system where crashes are looked into
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

        // When it crashes
        gateway.program.signal(number)
        let ended = try await gateway.program.ended()

        // Then it has ended of that alone, and nothing secret is anywhere
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
