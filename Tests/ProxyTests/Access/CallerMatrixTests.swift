import NIOCore
import Proxy
import Testing
import TokenModel

/// Caller permissions by key, route, account and method, tested over real sockets.
@Suite struct CallerMatrixTests {
    enum Key: String, CaseIterable, Sendable {
        case none, wrong, right
    }

    /// The routes, accounts and methods that a caller may use; `nil` means all.
    struct Grant: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var routes: [String]?
        var accounts: [AccountPattern]?
        var methods: [String]?

        static let all = [
            Grant(testDescription: "everything"),
            Grant(testDescription: "its route", routes: ["acme"]),
            Grant(testDescription: "its route among others", routes: ["other", "acme"]),
            Grant(testDescription: "another route", routes: ["other"]),
            Grant(testDescription: "its account", accounts: [.name(Rig.account)]),
            Grant(testDescription: "another account", accounts: [.name(AccountID("bob"))]),
            Grant(
                testDescription: "its route with another account",
                routes: ["acme"],
                accounts: [.name(AccountID("bob"))]
            ),
            Grant(testDescription: "its method", methods: ["GET", "PURGE"]),
            Grant(testDescription: "other methods", methods: ["HEAD", "OPTIONS", "GETS"]),
            Grant(
                testDescription: "all three",
                routes: ["acme"],
                accounts: [.name(Rig.account)],
                methods: ["POST", "GET", "PURGE"]
            ),
        ]

        func permits(_ method: String) -> Bool {
            self.routes?.contains("acme") != false && self.accounts?.contains(.name(Rig.account)) != false
                && self.methods?.contains(method) != false
        }
    }

    @Test(arguments: Key.allCases, Grant.all)
    func `I15_ only a valid key gets in, and only to what its caller may use`(key: Key, grant: Grant) async throws {
        var setup = Rig.Setup(routes: { port in
            [
                .sample(port: port),
                .sample(port: port) { plan in
                    plan.name = "other"
                    plan.path = "/other/"
                    plan.account = .fixed(AccountID("bob"))
                },
            ]
        })
        setup.callers = [
            CallerConfiguration(
                name: "tested",
                keys: [try .of("right")],
                routes: grant.routes,
                accounts: grant.accounts,
                methods: grant.methods
            ),
            CallerConfiguration(name: "somebody else", keys: [try .of("else")], routes: ["other"]),
        ]
        try await withRig(setup) { rig in
            for method in ["GET", "POST", "PURGE", "purge"] {
                let field = key == .none ? "" : "Authorization: Bearer \(key.rawValue)\r\n"
                let caller = try await rig.caller()
                try await caller.send(
                    "\(method) /acme/x HTTP/1.1\r\nHost: anywhere\r\n\(field)Origin: https://a\r\n\r\n"
                )
                guard key == .right, grant.permits(method) else {
                    let answer = try await caller.answer()
                    let (status, code) = key == .right ? (403, "caller_forbidden") : (401, "caller_unknown")
                    #expect(answer.head.status == status)
                    #expect(answer.body.contains("\"urn:martlet:error:\(code)\""))
                    #expect(answer.head["WWW-Authenticate"] == (status == 401 ? "Bearer realm=\"martlet\"" : nil))
                    // The body names neither the account nor the route.
                    #expect(!answer.body.contains("alice") && !answer.body.contains("acme"))
                    caller.close()
                    continue
                }
                let upstream = try await rig.upstream.accept()
                let head = try await upstream.head()
                #expect(head.request == "\(method) /v2/x")
                #expect(head.all("Authorization") == ["Bearer token-1"])
                try await upstream.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
                #expect(try await caller.answer().head.status == 200)
                caller.close()
            }
            let permitted = key == .right ? ["GET", "POST", "PURGE", "purge"].filter(grant.permits).count : 0
            #expect(rig.upstream.connections == permitted)
            // The gateway asks for no token on behalf of a refused caller.
            #expect(rig.credentials.asked == 0)
        }
    }

    @Test func `a caller that may not use an account does not cause its refresh`() async throws {
        var setup = Rig.Setup(credential: nil)
        setup.callers = [CallerConfiguration(name: "b", keys: [try .of("right")], accounts: [.name(AccountID("bob"))])]
        try await withRig(setup) { rig in
            let caller = try await rig.caller()
            for key in ["right", "wrong"] {
                try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\nMartlet-Key: \(key)\r\n\r\n")
                #expect(try await caller.answer().head.status == (key == "right" ? 403 : 401))
            }
            #expect(rig.credentials.asked == 0)
        }
    }

    @Test func `each request on a connection is authenticated by its own key`() async throws {
        var setup = Rig.Setup()
        setup.callers = [CallerConfiguration(name: "a", keys: [try .of("right")])]
        try await withRig(setup) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/1 HTTP/1.1\r\nHost: a\r\nMartlet-Key: right\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try await caller.head().status == 204)
            try await caller.send("GET /acme/2 HTTP/1.1\r\nHost: a\r\nMartlet-Key: wrong\r\n\r\n")
            #expect(try await caller.answer().head.status == 401)
            try await caller.send("GET /acme/3 HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await caller.answer().head.status == 401)
            try await caller.send("GET /acme/4 HTTP/1.1\r\nHost: a\r\nMartlet-Key: right\r\n\r\n")
            #expect(try await upstream.head().request == "GET /v2/4")
        }
    }

    @Test(arguments: [Injection(), Injection(header: "X-Api-Key", prefix: "")])
    func `I8_ a caller's key never reaches the upstream, whatever header carries the token`(injection: Injection)
        async throws
    {
        var setup = Rig.Setup.route { $0.injection = injection }
        setup.callers = [CallerConfiguration(name: "a", keys: [try .of("canary")])]
        try await withRig(setup) { rig in
            for field in [
                "Martlet-Key: canary", "Authorization: Bearer canary", "Authorization: Basic \(basic("u:canary"))",
            ] {
                let caller = try await rig.caller()
                let more = field.hasPrefix("Authorization") ? "" : "Authorization: Bearer canary\r\n"
                try await caller.send(
                    "POST /acme/ HTTP/1.1\r\nHost: a\r\n\(field)\r\n\(more)Martlet-Account: canary\r\nTE: trailers\r\n"
                        + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nMartlet-Key: canary\r\n"
                        + "Authorization: Bearer canary\r\n\r\n"
                )
                let upstream = try await rig.upstream.accept()
                let (head, body) = try await upstream.request()
                #expect(body == "ok")
                #expect(
                    head.fields.allSatisfy { !$0.value.contains("canary") && !$0.value.contains(basic("u:canary")) }
                )
                #expect(head[injection.header] == "\(injection.prefix)token-1")
                try await upstream.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
                #expect(try await caller.head().status == 204)
            }
        }
    }

    @Test func `a refused caller that waits for 100 Continue gets its response at once`() async throws {
        var setup = Rig.Setup()
        setup.callers = [CallerConfiguration(name: "a", keys: [try .of("right")])]
        try await withRig(setup) { rig in
            let caller = try await rig.caller()
            try await caller.send(
                "POST /acme/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
            )
            let answer = try await caller.answer()
            #expect(answer.head.status == 401)
            #expect(answer.head["Connection"] == "close")
            #expect(rig.upstream.connections == 0)
        }
    }
}
