internal import AdminAPI
internal import NIOHTTP1
internal import TestKit
internal import Testing

@Suite struct MetricsRouteTests {
    @Test func `metrics are text for any admin token`() async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.GET, "/metrics")
            #expect(answer.status == 200)
            #expect(answer.headers["content-type"] == ["text/plain; version=0.0.4"])
            #expect(answer.headers["cache-control"] == ["no-store"])
            #expect(answer.body == "a 1\n")

            #expect(try await admin.caller.send(.GET, "/metrics", authorization: nil).problem == "admin_unauthorized")
            #expect(try await admin.caller.send(.POST, "/metrics").status == 405)
        }
    }

    /// Runs `body` with a caller of a listener that requires no tokens.
    private func withOpenListener(_ body: @Sendable (AdminFixture, AdminCaller) async throws -> Void) async throws {
        try await AdminFixture.run { admin in
            let server = try await AdminServer.listenForMetrics(
                on: AdminAddress(host: "127.0.0.1", port: 0),
                monitor: admin.monitor,
                logger: admin.logs.logger
            )
            let caller = AdminCaller(base: "http://\(server.address)", token: AdminFixture.adminToken)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await server.run() }
                let outcome = await Result { try await body(admin, caller) }
                server.stop()
                try await caller.close()
                try await tasks.waitForAll()
                try outcome.get()
            }
        }
    }

    @Test func `a listener without tokens shows metrics and health`() async throws {
        try await self.withOpenListener { (admin, caller) async throws in
            #expect(try await caller.send(.GET, "/metrics", authorization: nil).body == "a 1\n")
            #expect(try await caller.send(.HEAD, "/metrics", authorization: nil).status == 200)
            #expect(try await caller.send(.GET, "/healthz", authorization: nil).status == 200)
            admin.monitor.change { $0.store.isOpen = false }
            #expect(try await caller.send(.GET, "/readyz", authorization: nil).status == 503)
        }
    }

    @Test(arguments: [
        (HTTPMethod.GET, "/v1/status"), (.GET, "/v1/accounts"), (.GET, "/v1/accounts/alice"),
        (.PUT, "/v1/accounts/alice/tokens"), (.DELETE, "/v1/accounts/alice/tokens"),
        (.POST, "/v1/accounts/alice/refresh"), (.GET, "/"),
    ])
    func `an open listener has no other route, even for an admin token`(method: HTTPMethod, path: String) async throws {
        try await self.withOpenListener { (_, caller) async throws in
            #expect(try await caller.send(method, path).problem == "not_found")
            #expect(try await caller.send(method, path, authorization: nil).problem == "not_found")
        }
    }

    @Test func `an error about a busy port names the configuration key`() async throws {
        try await AdminFixture.run { admin in
            let error = await #expect(throws: AdminServerError.self) {
                _ = try await AdminServer.listenForMetrics(
                    on: admin.server.address,
                    monitor: admin.monitor,
                    logger: admin.logs.logger
                )
            }
            #expect(error?.code == .addressInUse)
            #expect(error?.message.contains("metrics.address") == true)
        }
    }
}
