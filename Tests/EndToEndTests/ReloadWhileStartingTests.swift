import Foundation
import TestKit
import Testing

/// A SIGHUP before the gateway serves.
@Suite struct ReloadWhileStartingTests {
    @Test func `the reload happens once the gateway serves`() async throws {
        let directory = try TemporaryDirectory()
        try Gateway.configure("http://127.0.0.1:9", in: directory)
        let program = try Program("martlet", ["serve", "--config", "martlet.yaml"], in: directory)
        // The configuration was read, and nothing else has started.
        try await eventually("the first trace of it") {
            FileManager.default.fileExists(atPath: directory.path(of: "state"))
        }

        program.signal(1)

        _ = try await program.address(behind: "callers: ")
        try await eventually("the reload") { program.complaints.contains("\"config_reloaded\"") }
        program.signal(15)
        #expect(try await program.ended().exitCode == 0)
    }
}
