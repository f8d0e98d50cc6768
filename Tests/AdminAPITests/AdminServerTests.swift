internal import AdminAPI
internal import OAuth
internal import TestKit
internal import Testing
internal import TokenModel

@Suite struct AdminServerTests {
    @Test func `a busy port is said in one line`() async throws {
        try await AdminFixture.run { admin in
            let address = admin.server.address
            let error = await #expect(throws: AdminServerError(.addressInUse, "")) {
                _ = try await AdminServer.listen(
                    on: address,
                    engine: admin.engine,
                    monitor: admin.monitor,
                    tokens: try #require(AdminTokens([Secret("token-canary")])),
                    logger: admin.logs.logger
                )
            }
            #expect(
                error?.message == "the admin API can't listen on \(address): the port is busy; "
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
                    engine: admin.engine,
                    monitor: admin.monitor,
                    tokens: try #require(AdminTokens([Secret("token-canary")])),
                    logger: admin.logs.logger
                )
            }
        }
    }

    @Test func `a stop lets the request under way end and takes no new ones`() async throws {
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
                let refused = (try? await probe.send(.GET, "/healthz", authorization: nil)) == nil
                try await probe.close()
                return refused
            }
            gate.open()

            #expect(try await answer.status == 200)
        }
    }

    @Test func `requests that don't end are given up after the grace`() async throws {
        let limits = AdminLimits(stopGrace: .milliseconds(20))
        try await AdminFixture.run(limits: limits) { admin in
            try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", #"{"refresh_token": "refresh-canary"}"#)
            let gate = Gate()
            admin.provider.hold(at: gate)
            async let answer = admin.caller.send(.POST, "/v1/accounts/alice/refresh")
            try await eventually("the exchange to begin") { gate.waitingCount == 1 }

            admin.server.stop()

            // The wait ends, not the exchange: that goes on in the engine.
            #expect((try? await answer.status) != nil || gate.waitingCount == 1)
            #expect(gate.waitingCount == 1)
            gate.open()
        }
    }

    @Test func `a cancelled run ends as a stopped one does`() async throws {
        try await AdminFixture.run { admin in
            let server = try await AdminServer.listen(
                on: AdminAddress(host: "127.0.0.1", port: 0),
                engine: admin.engine,
                monitor: admin.monitor,
                tokens: try #require(AdminTokens([Secret("token-canary")])),
                logger: admin.logs.logger
            )
            let running = Task { try await server.run() }
            let caller = AdminCaller(base: "http://\(server.address)", token: "token-canary")
            #expect(try await caller.send(.GET, "/healthz").status == 200)

            running.cancel()

            try await within("the run to end") { try await running.value }
            try await caller.close()
        }
    }
}
