import TestKit
import Testing

/// The directory where the gateway stores its files.
@Suite struct StateDirectoryTests {
    @Test(arguments: [(0o700, false), (0o755, false), (0o770, true), (0o1777, true)])
    func `a directory that others can change causes a warning and is used`(mode: Int, isWarnedOf: Bool) async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let first = try await Gateway(mock, in: directory)
        #expect(try directory.mode(of: "state") == 0o700)
        first.program.signal(15)
        #expect(try await first.program.ended().exitCode == 0)
        try directory.setMode(mode, of: "state")

        let second = try await Gateway(mock, in: directory)

        second.program.signal(15)
        let outcome = try await second.program.ended()
        #expect(outcome.exitCode == 0)
        let warnings = outcome.errors.split(separator: "\n").filter {
            $0.contains("state_dir can be changed by others")
        }
        #expect(warnings.count == (isWarnedOf ? 1 : 0))
        #expect(warnings.allSatisfy { $0.contains("\"warning\"") && $0.contains("0\(String(mode, radix: 8))") })
        #expect(try directory.mode(of: "state") == mode)
    }
}
