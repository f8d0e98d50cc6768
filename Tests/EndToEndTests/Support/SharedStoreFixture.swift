import TestKit
import Testing

/// A mock with one or more gateways on the same `state_dir`, which fail at given steps of their flights. The gateways
/// run one after the other or side by side.
struct SharedStoreFixture {
    let directory: TemporaryDirectory
    let mock: Mock
    /// `timeout` and `answer_timeout` of the provider: how long callers wait, and how long the gateway waits for the
    /// provider's response. A claim lasts 4 s longer.
    private let timeout: String

    /// - Parameter grace: how long a used refresh token still yields a token pair.
    init(grace: String, timeout: String = "2s") async throws {
        self.directory = try TemporaryDirectory()
        self.mock = try await Mock("--rotate", "--reuse-detection", "--grace", grace, in: self.directory)
        self.timeout = timeout
    }

    /// Starts a gateway.
    ///
    /// - Parameter failpoints: the value of `MARTLET_FAILPOINTS`.
    func gateway(_ failpoints: String = "") async throws -> Gateway {
        try await Program.$failpoints.withValue(failpoints) {
            let settings = "timeout: \(self.timeout)\n    answer_timeout: \(self.timeout)"
            return try await Gateway(self.mock, settings: settings, in: self.directory)
        }
    }

    /// Starts a gateway that fails at its next refresh. The account has a dead access token and a valid refresh token.
    func gatewayAboutToRefresh(_ failpoints: String, faults: String = "[]") async throws -> Gateway {
        let gateway = try await self.gateway(failpoints)
        try await gateway.importGrant(from: self.mock)
        try await self.mock.expire()
        try await self.mock.setFaults(faults)
        return gateway
    }
}

extension SharedStoreFixture {
    /// Waits until the write-ahead log of the store is empty. A gateway truncates it one second after a write. A
    /// gateway that is stopped meanwhile holds the lock that all commits need.
    func waitForEmptyWAL() async throws {
        try await eventually("the store's log to be empty") {
            self.directory.bytes(of: "state/tokens.db-wal")?.isEmpty ?? true
        }
    }
}

extension Gateway {
    /// The status code of one request; `nil` if the gateway ends before it responds.
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

    /// Waits until a request succeeds.
    func serves() async throws {
        try await eventually("a request to get through") { try await self.status() == "200" }
    }

    /// How many times the log reports a dead grant.
    var deaths: Int {
        self.program.complaints.split(separator: "\n").count { $0.contains("a grant is dead") }
    }
}
