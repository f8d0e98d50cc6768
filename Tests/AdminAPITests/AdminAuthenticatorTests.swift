internal import AdminAPI
internal import NIOHTTP1
internal import TestKit
internal import Testing
internal import TokenModel

@Suite struct AdminAuthenticatorTests {
    @Test(arguments: [
        nil, "", "Bearer", "Bearer ", "Bearer wrong-canary", "Basic \(AdminFixture.adminToken)",
        AdminFixture.adminToken,
        "Bearer \(AdminFixture.adminToken)x", "Bearer \(AdminFixture.adminToken) x",
        "Bearer \(AdminFixture.adminToken), Bearer \(AdminFixture.adminToken)",
    ])
    func `a request without a valid admin token is refused`(authorization: String?) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.GET, "/v1/accounts", authorization: authorization)

            #expect(answer.status == 401)
            #expect(answer.problem == "admin_unauthorized")
            #expect(answer.headers.first(name: "www-authenticate") == "Bearer realm=\"martlet\"")
            #expect(answer.headers.first(name: "cache-control") == "no-store")
        }
    }

    @Test(arguments: ["Bearer", "bearer", "BEARER"])
    func `the scheme may be written in any case`(scheme: String) async throws {
        try await AdminFixture.run { admin in
            let authorization = "\(scheme) \(AdminFixture.adminToken)"
            let answer = try await admin.caller.send(.GET, "/v1/accounts", authorization: authorization)
            #expect(answer.status == 200)
        }
    }

    @Test func `each of several tokens is accepted, and after a change only the new ones`() async throws {
        let tokens = AdminTokens([Secret("first-canary"), Secret("second-canary")])
        try await AdminFixture.run(tokens: tokens) { admin in
            #expect(try await admin.caller.send(.GET, "/v1/status", authorization: "Bearer first-canary").status == 200)
            #expect(
                try await admin.caller.send(.GET, "/v1/status", authorization: "Bearer second-canary").status == 200
            )

            admin.server.replaceTokens(try #require(AdminTokens([Secret("third-canary")])))

            #expect(try await admin.caller.send(.GET, "/v1/status", authorization: "Bearer first-canary").status == 401)
            #expect(try await admin.caller.send(.GET, "/v1/status", authorization: "Bearer third-canary").status == 200)
        }
    }

    @Test func `a refusal takes half a second`() async throws {
        try await AdminFixture.run(limits: AdminLimits()) { admin in
            let time = try await ContinuousClock().measure {
                try await admin.caller.send(.GET, "/v1/accounts", authorization: nil)
            }
            #expect(time >= .milliseconds(500))
        }
    }

    @Test func `the 65th wrong token at once gets status 429, and a right one is accepted`() async throws {
        let gate = Gate()
        try await AdminFixture.run(limits: AdminLimits(), clock: GatedClock(gate: gate)) { admin in
            defer { gate.open() }
            try await withThrowingTaskGroup(of: AdminCaller.Answer.self) { attempts in
                for _ in 0..<64 {
                    attempts.addTask {
                        try await admin.caller.send(.GET, "/v1/accounts", authorization: "Bearer wrong-canary")
                    }
                }
                try await eventually("64 refusals to wait") { gate.waitingCount == 64 }

                async let late = admin.caller.send(.GET, "/v1/accounts", authorization: "Bearer wrong-canary")
                try await eventually("the 65th to wait") { gate.waitingCount == 65 }
                #expect(try await admin.caller.send(.GET, "/v1/accounts").status == 200)
                #expect(gate.waitingCount == 65)

                gate.open()
                let refusal = try await late
                #expect(refusal.status == 429)
                #expect(refusal.problem == "too_many_attempts")
                #expect(refusal.headers.first(name: "retry-after") == "2")
                for try await answer in attempts { #expect(answer.status == 401) }
            }
            // The waiting places are free again.
            #expect(try await admin.caller.send(.GET, "/v1/accounts", authorization: nil).status == 401)
        }
    }

    @Test(arguments: ["/v1", "/v2/accounts", "/v1/accounts/alice/secrets", "/v1/nothing"])
    func `an unknown path reveals nothing without a token`(path: String) async throws {
        try await AdminFixture.run { admin in
            #expect(try await admin.caller.send(.GET, path, authorization: nil).status == 401)
            let answer = try await admin.caller.send(.GET, path)
            #expect(answer.status == 404)
            #expect(answer.problem == "not_found")
        }
    }
}
