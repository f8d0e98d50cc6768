import Foundation
import TestKit
import Testing

/// A running `martlet serve` in front of a mock, with one route `/acme/` and one account `alice`.
final class Gateway: Sendable {
    let callers: String
    let admin: String
    /// The address that serves metrics without a token.
    let metrics: String
    let program: Program
    private let directory: TemporaryDirectory

    /// - Parameters:
    ///   - provider: the provider's name.
    ///     - settings: additional keys of the provider.
    ///     - secret: the source of the client secret.
    ///     - grant: the account's grant type, and its additional keys.
    ///     - listener: the address where callers connect.
    ///     - route: additional keys of the route.
    ///     - more: lines appended to the configuration.
    ///     - log: a path for the log (standard error); `nil` chooses a new file.
    ///     - options: additional command-line options.
    init(
        _ mock: Mock,
        provider: String = "mock",
        settings: String = "timeout: 8s",
        secret: String = "{ file: client-secret }",
        grant: String = "refresh_token",
        in directory: TemporaryDirectory,
        listener: String = "127.0.0.1:0",
        route: String = "strip: true",
        more: String = "",
        log: String? = nil,
        options: [String] = []
    ) async throws {
        self.directory = directory
        try Self.configure(
            mock.address,
            provider: provider,
            settings: settings,
            secret: secret,
            grant: grant,
            in: directory,
            listener: listener,
            route: route,
            more: more
        )
        self.program = try Program(
            "martlet",
            ["serve", "--config", "martlet.yaml"] + options,
            in: directory,
            errors: log
        )
        self.callers = try await self.program.address(behind: "callers: ")
        self.admin = try await self.program.address(behind: "admin: ")
        self.metrics = try await self.program.address(behind: "metrics: ")
    }

    /// Writes a `martlet.yaml` and its client secret file.
    static func configure(
        _ mock: String,
        provider: String = "mock",
        settings: String = "timeout: 8s",
        secret: String = "{ file: client-secret }",
        grant: String = "refresh_token",
        in directory: TemporaryDirectory,
        listener: String = "127.0.0.1:0",
        route: String = "strip: true",
        more: String = ""
    ) throws {
        try directory.write(Array("mock-secret\n".utf8), to: "client-secret")
        try directory.setMode(0o600, of: "client-secret")
        let text = """
            listeners: [{ address: \(listener) }]
            admin: { address: 127.0.0.1:0 }
            metrics: { address: 127.0.0.1:0 }
            state_dir: \(directory.path(of: "state"))
            log: { level: trace }
            providers:
              \(provider):
                issuer: \(mock)
                client_id: mock-client
                client_secret: \(secret)
                \(settings)
            accounts:
              alice: { provider: \(provider), grant: \(grant) }
            routes:
              - name: acme
                match: { path: /acme/ }
                upstream: \(mock)/api/
                account: alice
                \(route)
            \(more)
            """
        try directory.write(Array(text.utf8), to: "martlet.yaml")
    }

    /// Runs another subcommand of `martlet` against this gateway.
    func martlet(_ arguments: String..., input: String? = nil) async throws -> Program.Outcome {
        try await Program.run(
            "martlet",
            arguments + ["--admin", self.admin, "--admin-token-file", self.directory.path(of: "state/admin.token")],
            in: self.directory,
            input: input
        )
    }

    /// Imports a new grant from the mock into the gateway.
    func importGrant(from mock: Mock) async throws {
        let outcome = try await self.martlet("accounts", "import", "alice", input: try await mock.grant("alice"))
        try #require(outcome.exitCode == 0, "\(outcome.errors)")
    }

    /// Sends SIGHUP and waits for a log line that contains `code`.
    ///
    /// - Returns: the whole line.
    func reload(_ code: String = "config_reloaded") async throws -> String {
        let before = self.program.complaints.utf8.count
        self.program.signal(1)
        let lines = { @Sendable in
            // Text after the last newline may be an incomplete line.
            self.program.complaints.utf8.dropFirst(before)
                .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
                .compactMap(String.init).filter { $0.contains("\"\(code)\"") }
        }
        try await eventually("a line with \(code)") { !lines().isEmpty }
        return try #require(lines().last)
    }

    /// Runs curl on a path below `/acme/`, as a caller.
    func curl(_ path: String, _ arguments: [String] = [], limit: Duration = .seconds(60)) async throws -> String {
        let outcome = try await Program.run(
            "/usr/bin/curl",
            ["-q", "--noproxy", "*", "-sS", "\(self.callers)/acme/\(path)"] + arguments,
            in: self.directory,
            limit: limit
        )
        try #require(outcome.exitCode == 0, "\(outcome.errors)")
        return outcome.output
    }

    /// The sample lines of `/metrics`, without comments.
    func samples() async throws -> Set<String> {
        let outcome = try await Program.run(
            "/usr/bin/curl",
            ["-q", "--noproxy", "*", "-fsS", "\(self.metrics)/metrics"],
            in: self.directory
        )
        try #require(outcome.exitCode == 0, "\(outcome.errors)")
        return Set(outcome.output.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init))
    }

    /// The status codes of `count` requests that are all sent at once, with their counts.
    func statuses(_ count: Int, _ path: String, _ arguments: [String] = []) async throws -> [String: Int] {
        // curl runs at most 300 transfers at once.
        let processes = (count + 249) / 250
        return try await withThrowingTaskGroup(of: String.self) { tasks in
            for index in 0..<processes {
                let share = count / processes + (index < count % processes ? 1 : 0)
                tasks.addTask {
                    try await self.curl(
                        "\(path)?n=[1-\(share)]",
                        ["-Z", "--parallel-immediate", "--parallel-max", "\(share)", "-o", "/dev/null"]
                            + ["-w", "%{http_code}\\n"] + arguments
                    )
                }
            }
            var statuses: [String: Int] = [:]
            for try await output in tasks {
                for status in output.split(separator: "\n") { statuses[String(status), default: 0] += 1 }
            }
            return statuses
        }
    }
}

/// The description of a request that `/api/echo` returns.
struct Echo: Decodable {
    let method: String
    let path: String
    let query: String
    let headers: [[String]]
    let account: String
    let body_size: Int
    let body_sha256: String

    init(_ json: String) throws {
        self = try JSONDecoder().decode(Echo.self, from: Data(json.utf8))
    }

    func values(_ name: String) -> [String] {
        self.headers.filter { $0[0].lowercased() == name.lowercased() }.map { $0[1] }
    }
}
