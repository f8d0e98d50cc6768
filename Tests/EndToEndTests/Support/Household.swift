import TestKit
import Testing

/// A mock, and gateways one after the other or side by side on one `state_dir`, told to fail at steps of their flights.
struct Household {
    let directory: TemporaryDirectory
    let mock: Mock
    /// How long callers wait and an answer is listened for; a claim stands 4 s longer.
    private let timeout: String

    /// - Parameter grace: for how long a spent refresh token still yields a pair.
    init(grace: String, timeout: String = "2s") async throws {
        self.directory = try TemporaryDirectory()
        self.mock = try await Mock("--rotate", "--reuse-detection", "--grace", grace, in: self.directory)
        self.timeout = timeout
    }

    /// Starts a gateway.
    ///
    /// - Parameter failpoints: as `MARTLET_FAILPOINTS` has them.
    func gateway(_ failpoints: String = "") async throws -> Gateway {
        try await Program.$wrapper.withValue(["/usr/bin/env", "MARTLET_FAILPOINTS=\(failpoints)"]) {
            let settings = "timeout: \(self.timeout)\n    answer_timeout: \(self.timeout)"
            return try await Gateway(self.mock, settings: settings, in: self.directory)
        }
    }

    /// Starts a gateway that is to fail at its next refresh: the account has an access token that is dead, and a refresh
    /// token that is good.
    func gatewayAboutToRefresh(_ failpoints: String, faults: String = "[]") async throws -> Gateway {
        let gateway = try await self.gateway(failpoints)
        try await gateway.importGrant(from: self.mock)
        try await self.mock.expire()
        try await self.mock.setFaults(faults)
        return gateway
    }
}

extension Household {
    /// Waits until the store's log is empty. Who is stopped while it empties that, a second after a write, holds the lock
    /// that all commits need.
    func hasTrimmed() async throws {
        try await eventually("the store's log to be empty") {
            self.directory.bytes(of: "state/tokens.db-wal")?.isEmpty ?? true
        }
    }
}

extension Gateway {
    /// The status of one request; `nil` where the gateway has gone before it was answered.
    func status() async throws -> String? {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let outcome = try await Program.run(
            "/usr/bin/curl",
            ["-q", "--noproxy", "*", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "\(self.callers)/acme/echo"],
            in: directory
        )
        return outcome.exitCode == 0 ? outcome.output : nil
    }

    /// Waits until a request gets through.
    func serves(within limit: Duration = .seconds(20)) async throws {
        try await eventually("a request to get through", limit: limit) { try await self.status() == "200" }
    }

    /// How often its log says that a grant is dead.
    var deaths: Int {
        self.program.complaints.split(separator: "\n").count { $0.contains("a grant is dead") }
    }
}
