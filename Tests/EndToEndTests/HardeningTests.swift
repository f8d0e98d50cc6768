import Foundation
import TestKit
import Testing

/// What the process lets others see of its memory.
@Suite struct HardeningTests {
    @Test func `no core is written, and only root may look into the process`() async throws {
        // Given a gateway that runs as an ordinary user
        let directory = try TemporaryDirectory()
        try Gateway.configure("http://127.0.0.1:9", in: directory)
        let gateway = try self.start(in: directory)
        _ = try await gateway.address(behind: "callers: ")

        // Then its limits allow no core
        let limits = try String(contentsOfFile: "/proc/\(gateway.id)/limits", encoding: .utf8)
        let core = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
        #expect(core.split(separator: " ").count { $0 == "0" } == 2, "\(core)")

        let status = try String(contentsOfFile: "/proc/\(gateway.id)/status", encoding: .utf8)
        #expect(status.contains("NoNewPrivs:\t1"))

        // And its memory is root's to look into, not its user's (proc(5))
        let memory = try FileManager.default.attributesOfItem(atPath: "/proc/\(gateway.id)/mem")
        #expect(memory[.ownerAccountID] as? Int == 0)
        let process = try FileManager.default.attributesOfItem(atPath: directory.path(of: "state"))
        #expect(process[.ownerAccountID] as? Int != 0)
    }

    /// Starts the gateway as this user, or as nobody where this user is root.
    private func start(in directory: TemporaryDirectory) throws -> Program {
        let command = [Program.path(of: "martlet"), "serve", "--config", "martlet.yaml"]
        guard geteuid() == 0 else { return try Program(command[0], Array(command[1...]), in: directory) }
        for path in [directory.path, directory.path(of: "client-secret"), directory.path(of: "martlet.yaml")] {
            let given = unsafe chown(path, 65_534, 65_534)
            try #require(given == 0)
        }
        let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]
        return try Program("/usr/bin/setpriv", nobody + command, in: directory)
    }
}
