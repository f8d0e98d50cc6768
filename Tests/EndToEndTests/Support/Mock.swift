import Foundation
import TestKit
import Testing

/// A running `martlet-mock`. It is the provider and the API of one test.
final class Mock: Sendable {
    let address: String
    private let program: Program
    private let directory: TemporaryDirectory

    /// - Parameter host: the host name in ``address``; `nil` uses the IP address.
    init(_ options: String..., in directory: TemporaryDirectory, host: String? = nil) async throws {
        self.directory = directory
        self.program = try Program("martlet-mock", ["--port", "0"] + options, in: directory)
        let address = try await self.program.address(behind: "listening on ")
        self.address = host.map { address.replacing("127.0.0.1", with: $0) } ?? address
    }

    /// The process ID.
    var id: Int32 { self.program.id }

    /// Creates a grant.
    ///
    /// - Returns: the token response that the provider would send after a user signs in.
    func grant(_ account: String) async throws -> String {
        let body = #"{"account":"\#(account)"}"#
        return try await self.curl(["-X", "POST", "\(self.address)/_control/grants", "-d", body])
    }

    /// Expires all access tokens now.
    func expire() async throws {
        _ = try await self.curl(["-X", "POST", "\(self.address)/_control/expire"])
    }

    func setFaults(_ rules: String) async throws {
        _ = try await self.curl(["-X", "PUT", "\(self.address)/_control/faults", "-d", rules])
    }

    func stats() async throws -> MockStats {
        try JSONDecoder().decode(
            MockStats.self,
            from: Data(try await self.curl(["\(self.address)/_control/stats"]).utf8)
        )
    }

    private func curl(_ arguments: [String]) async throws -> String {
        let outcome = try await Program.run(
            "/usr/bin/curl",
            // Only the gateway needs to verify the mock's certificate; the test's own requests don't.
            ["-q", "--noproxy", "*", "-fsSk"] + arguments,
            in: self.directory
        )
        try #require(outcome.exitCode == 0, "\(outcome.errors)")
        return outcome.output
    }
}

/// The counters of the mock.
struct MockStats: Decodable {
    struct TokenRequests: Decodable {
        let ok: Int
        let invalid_grant: Int
        let invalid_client: Int
        let fault: Int
    }
    struct APIRequests: Decodable {
        let ok: Int
        let no_token: Int
        let expired: Int
        let fault: Int
    }
    struct Live: Decodable {
        let refresh: Int
        let access: Int
    }
    struct AtOnce: Decodable {
        let any: Int
        let per_refresh_token: Int
    }
    struct DeadUse: Decodable { let account: String }
    let token_requests: TokenRequests
    let token_requests_at_once: AtOnce
    let live: [String: Live]
    let dead_uses: [DeadUse]
    let api_requests: APIRequests
    let reuse_detections: Int
    let refresh_token_uses: [String: [Int]]
}
