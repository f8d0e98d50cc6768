internal import AdminAPI
internal import NIOHTTP1
internal import OAuth
internal import TestKit
internal import Testing
internal import TokenModel

@Suite struct AdminServerTests {
    @Test func `a busy port is reported in one line`() async throws {
        try await AdminFixture.run { admin in
            let address = admin.server.address
            let error = await #expect(throws: AdminServerError(.addressInUse, "")) {
                _ = try await AdminServer.listen(
                    on: address,
                    gateway: admin.gateway,
                    monitor: admin.monitor,
                    tokens: try #require(AdminTokens([Secret("token-canary")])),
                    logger: admin.logs.logger
                )
            }
            #expect(
                error?.message == "the admin API can't listen on \(address): another process listens there; "
                    + "stop the other process or change admin.address"
            )
        }
    }

    @Test(arguments: [AdminAddress(host: "192.0.2.1", port: 0), AdminAddress(host: "no.such.host.invalid", port: 0)])
    func `an address of another machine is refused`(address: AdminAddress) async throws {
        try await AdminFixture.run { admin in
            await #expect(throws: AdminServerError(.addressUnavailable, "")) {
                _ = try await AdminServer.listen(
                    on: address,
                    gateway: admin.gateway,
                    monitor: admin.monitor,
                    tokens: try #require(AdminTokens([Secret("token-canary")])),
                    logger: admin.logs.logger
                )
            }
        }
    }

    @Test func `a stop lets the request in progress end and accepts no new connections`() async throws {
        try await AdminFixture.run { admin in
            try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", #"{"refresh_token": "refresh-canary"}"#)
            let gate = Gate()
            admin.provider.hold(at: gate)
            admin.provider.answer(
                with: .success(
                    TokenGrant(accessToken: Secret("access-canary"), refreshToken: nil, lifetime: .seconds(60))
                )
            )
            async let answer = admin.caller.send(.POST, "/v1/accounts/alice/refresh")
            try await eventually("the exchange to begin") { gate.waitingCount == 1 }

            admin.server.stop()
            try await eventually("new connections to be refused") {
                let probe = AdminCaller(base: admin.caller.base, token: AdminFixture.adminToken)
                let answer = await Result { try await probe.send(.GET, "/healthz", authorization: nil) }
                try await probe.close()
                return (try? answer.get()) == nil
            }
            gate.open()

            #expect(try await answer.status == 200)
        }
    }

    @Test func `a request that does not end is abandoned after the grace period`() async throws {
        try await AdminFixture.run { admin in
            try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", #"{"refresh_token": "refresh-canary"}"#)
            let gate = Gate()
            admin.provider.hold(at: gate)
            try await Self.serve(on: admin, AdminLimits(stopGrace: .milliseconds(20))) { server, caller in
                async let answer = Result { try await caller.send(.POST, "/v1/accounts/alice/refresh") }
                try await eventually("the exchange to begin") { gate.waitingCount == 1 }
                server.stop()
                let outcome = await answer
                #expect(throws: (any Error).self) { try outcome.get() }
            }
            // The exchange continues, because the provider may already have used the refresh token.
            #expect(gate.waitingCount == 1)
        }
    }

    @Test func `a cancelled run ends like a stopped one`() async throws {
        try await AdminFixture.run { admin in
            try await Self.serve(on: admin, AdminLimits(), isCancelled: true) { _, caller in
                let answer = try await caller.send(.GET, "/healthz")
                #expect(answer.status == 200)
            }
        }
    }

    @Test func `a server that is stopped before it runs ends at once, even with a connection`() async throws {
        try await AdminFixture.run { admin in
            let server = try await Self.listen(on: admin, AdminLimits())
            let caller = AdminCaller(base: "http://\(server.address)", token: "token-canary")
            async let answer = Result { try await caller.send(.GET, "/healthz") }
            server.stop()
            let end = await Result { try await within("the run to end") { try await server.run() } }
            _ = await answer
            try await caller.close()
            try end.get()
        }
    }

    /// Runs a second server of the fixture's engine while `body` runs, and waits until it has ended.
    private static func serve(
        on admin: AdminFixture,
        _ limits: AdminLimits,
        isCancelled: Bool = false,
        _ body: (AdminServer, AdminCaller) async throws -> Void
    ) async throws {
        let server = try await Self.listen(on: admin, limits)
        let caller = AdminCaller(base: "http://\(server.address)", token: "token-canary")
        let running = Task { try await server.run() }
        let outcome = await Result { try await body(server, caller) }
        if isCancelled { running.cancel() } else { server.stop() }
        try await within("the run to end") { try await running.value }
        try await caller.close()
        try outcome.get()
    }

    private static func listen(on admin: AdminFixture, _ limits: AdminLimits) async throws -> AdminServer {
        try await AdminServer.listen(
            on: AdminAddress(host: "127.0.0.1", port: 0),
            gateway: admin.gateway,
            monitor: admin.monitor,
            tokens: try #require(AdminTokens([Secret("token-canary")])),
            limits: limits,
            logger: admin.logs.logger
        )
    }
}
