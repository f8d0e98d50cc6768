import TestKit
import Testing

/// What operators are told, tested with real processes: the log, the metrics, a webhook and the status.
@Suite struct EventTests {
    private let directory: TemporaryDirectory

    init() throws {
        self.directory = try TemporaryDirectory()
        try self.directory.write(Array("canary-hook-secret\n".utf8), to: "hook.key")
        try self.directory.setMode(0o600, of: "hook.key")
    }

    /// Runs a test with a mock and a gateway that posts its alerts to the mock's API, which accepts them.
    private func withGateway(_ test: (Mock, Gateway) async throws -> Void) async throws {
        let mock = try await Mock(in: self.directory)
        let gateway = try await Gateway(
            mock,
            in: self.directory,
            more: "webhook: { url: \(mock.address)/api/echo, secret: { file: hook.key } }"
        )
        try await gateway.importGrant(from: mock)
        try await test(mock, gateway)
        withExtendedLifetime(mock) {}
    }

    private static let receiver = #"{"on":"api","times":0,"status":204}"#

    @Test func `a dead grant is reported once, in the log, the metrics and by the webhook`() async throws {
        try await self.withGateway { mock, gateway in
            let dead = #"{"on":"token","times":0,"status":400,"body":"{\"error\":\"invalid_grant\"}"}"#
            try await mock.setFaults("[\(dead),\(Self.receiver)]")

            for _ in 0..<3 { _ = try await gateway.martlet("accounts", "refresh", "alice") }

            try await eventually("the webhook to be told") {
                try await gateway.samples().contains(#"martlet_webhook_alerts_total{outcome="delivered"} 1"#)
            }
            let samples = try await gateway.samples()
            #expect(samples.contains(#"martlet_events_total{event="reauthorization_required"} 1"#))
            #expect(samples.contains(#"martlet_webhook_alerts_total{outcome="dropped"} 0"#))
            #expect(try await mock.stats().api_requests.fault == 1)
            let lines = gateway.program.complaints.split(separator: "\n")
            #expect(lines.count { $0.contains(#""event.name":"reauthorization_required""#) } == 1)
            #expect(!gateway.program.complaints.contains("canary"))
        }
    }

    @Test func `a provider that refuses the client shows in the status, and a reload ends the alerts`() async throws {
        try await self.withGateway { mock, gateway in
            let refused = #"{"on":"token","times":0,"status":401,"body":"{\"error\":\"invalid_client\"}"}"#
            try await mock.setFaults("[\(refused),\(Self.receiver)]")
            _ = try await gateway.martlet("accounts", "refresh", "alice")

            let status = try await gateway.martlet("status")
            #expect(status.output.contains("mock refuses the client"), "\(status.output)")
            #expect(
                try await gateway.samples().contains(
                    #"martlet_provider_held{provider="mock",reason="refuses_client"} 1"#
                )
            )
            try await eventually("the webhook to be told") { try await mock.stats().api_requests.fault == 1 }

            let text = String(decoding: try #require(self.directory.bytes(of: "martlet.yaml")), as: UTF8.self)
            let without = text.split(separator: "\n").filter { !$0.hasPrefix("webhook:") }.joined(separator: "\n")
            try self.directory.write(Array(without.utf8), to: "martlet.yaml")
            gateway.program.signal(1)
            try await eventually("the reload") { gateway.program.complaints.contains("config_reloaded") }
            let reloaded = gateway.program.complaints.split(separator: "\n").first { $0.contains("config_reloaded") }
            #expect(reloaded?.contains("webhook") == true)

            _ = try await gateway.martlet("accounts", "refresh", "alice")
            try await eventually("the event") {
                try await gateway.samples().contains(#"martlet_events_total{event="provider_config"} 1"#)
            }
            #expect(try await mock.stats().api_requests.fault == 1)
        }
    }
}
