import Foundation
import MockServers
import TestKit
import Testing

/// Tests of the built program.
@Suite struct ProgramTests {
    private let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    private func run(_ arguments: [String]) async throws -> Program.Outcome {
        try await Program.run("martlet-mock", arguments, in: self.directory)
    }

    @Test(arguments: [
        ["--port", "99999"], ["--access-ttl", "60"], ["--grace", "soon"], ["--tls", "cert.pem"], ["--unknown"],
        ["extra"],
        ["--tls", "/nonexistent/cert.pem,/nonexistent/key.pem"],
    ])
    func `an invalid option is explained, and the program exits with 64`(arguments: [String]) async throws {
        let end = try await self.run(arguments)
        #expect(end.exitCode == 64)
        #expect(!end.errors.isEmpty)
        #expect(end.output.isEmpty)
    }

    @Test func `help shows an example, and the program exits with 0`() async throws {
        let end = try await self.run(["--help"])
        for endpoint in [
            "POST /_control/grants", "POST /_control/expire", "PUT  /_control/faults",
            "PUT  /_control/sign_in", "GET  /_control/stats",
        ] {
            #expect(end.output.contains(endpoint))
        }
        #expect(end.output.contains(#"{"on": "token", "times": 2, "delay": "3s", "drop": "after_commit"}"#))
        #expect(end.exitCode == 0)
        #expect(end.output.contains("EXAMPLE"))
        #expect(end.output.contains("--rotation-kills-access"))
    }

    @Test func `a busy port is reported in one line, and the program exits with 69`() async throws {
        try await MockServer.withRunning { address in
            let end = try await self.run(["--port", "\(address.port)"])
            #expect(end.exitCode == 69)
            #expect(end.errors.split(separator: "\n").count == 1)
            #expect(end.errors.contains("127.0.0.1:\(address.port)"))
        }
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `a signal ends the program at once with 0, even during a stream`(signal: Int32) async throws {
        let program = try Program(
            "martlet-mock",
            ["--port", "0", "--rotate", "--access-ttl", "5m"],
            in: self.directory
        )
        let place = try await program.address(behind: "martlet-mock listening on http://127.0.0.1:")
        let address = ListeningAddress(scheme: "http", host: "127.0.0.1", port: try #require(Int(place)))

        let granted = try await address.grant()
        #expect(granted.expiresIn == 300)
        try await Wire.open(address) { wire in
            try await wire.send(
                address.message("GET", "/api/stream/9?every=1h", [("Authorization", "Bearer \(granted.accessToken)")])
            )
            #expect(await wire.readMore())
            program.signal(signal)
            #expect(try await program.ended().exitCode == 0)
        }
    }
}
