internal import AdminAPI
internal import Audit
internal import KillSwitch
internal import NIOHTTP1
internal import TestKit
internal import Testing
internal import TokenModel

/// What administrators may do, and the names in the audit log.
@Suite struct AdminRoleTests {
    private static let tokens = AdminTokens(entries: [
        AdminTokens.Entry(Administrator(name: "olga", role: .operator), Secret("operator-canary")),
        AdminTokens.Entry(Administrator(name: "kim", role: .killer), Secret("killer-canary")),
        AdminTokens.Entry(Administrator(name: "vera", role: .viewer), Secret("viewer-canary")),
        AdminTokens.Entry(.unnamed, Secret("unnamed-canary")),
    ])
    private static let reads = [
        "/v1/status", "/v1/accounts", "/v1/accounts/alice", "/v1/accounts/alice?unrevoked=true", "/v1/kills",
        "/v1/replicas", "/v1/audit", "/v1/history", "/v1/cache", "/v1/lock", "/v1/approvals", "/metrics",
    ]
    private static let kill = #"{"scope":{"account":"alice"},"reason":"drill"}"#
    private static let changes: [(HTTPMethod, String, String)] = [
        (.POST, "/v1/revive", #"{"scope":{"account":"alice"},"reason":"over"}"#),
        (.PUT, "/v1/accounts/bob/tokens", #"{"refresh_token":"refresh-canary"}"#),
        (.POST, "/v1/accounts/bob/refresh", ""), (.POST, "/v1/accounts/bob/adopt", ""),
        (.DELETE, "/v1/accounts/bob/tokens", ""), (.DELETE, "/v1/replicas/b", ""),
        (.POST, "/v1/lock", #"{"reason":"drill"}"#), (.POST, "/v1/unlock", "{}"),
        (.POST, "/v1/approvals", #"{"account":"alice"}"#),
    ]

    @Test(arguments: ["operator", "killer", "viewer", "unnamed"])
    func `each role reads everything and changes only what it may`(role: String) async throws {
        try await AdminFixture.run(tokens: Self.tokens) { admin in
            func send(_ method: HTTPMethod, _ path: String, _ body: String? = nil) async throws -> AdminCaller.Answer {
                try await admin.caller.send(
                    method,
                    path,
                    authorization: "Bearer \(role)-canary",
                    bytes: body.map { Array($0.utf8) }
                )
            }
            for path in Self.reads {
                let answer = try await send(.GET, path)
                #expect(answer.status == 200, "\(path)")
            }
            let isOperator = role == "operator" || role == "unnamed"

            let kill = try await send(.POST, "/v1/kill", Self.kill)
            #expect(kill.problem == (role == "viewer" ? "role_forbidden" : nil))
            #expect(kill.status == (role == "viewer" ? 403 : 200))
            #expect(admin.kills.killedScopes.isEmpty == (role == "viewer"))
            // Purging needs no higher role than killing, since it only takes away.
            let purge = try await send(.POST, "/v1/cache/purge", "{}")
            #expect(purge.problem == (role == "viewer" ? "role_forbidden" : nil))
            #expect(purge.status == (role == "viewer" ? 403 : 200))
            #expect(admin.caches.purges.isEmpty == (role == "viewer"))
            for (method, path, body) in Self.changes {
                let answer = try await send(method, path, body)
                #expect((answer.problem == "role_forbidden") == !isOperator, "\(method) \(path)")
                #expect((answer.status == 403) == !isOperator)
            }
            // Refused requests are not recorded, because they change nothing.
            let records = try await admin.audit.log.lastNumber()
            #expect((records > 4) == isOperator)
            #expect((records == 0) == (role == "viewer"))
        }
    }

    @Test func `a refusal names the token's administrator and the required role`() async throws {
        try await AdminFixture.run(tokens: Self.tokens) { admin in
            func detail(_ token: String, _ path: String) async throws -> String? {
                try await admin.caller.send(.POST, path, authorization: "Bearer \(token)", bytes: []).detail
            }
            let viewer = try await detail("viewer-canary", "/v1/kill")
            #expect(
                viewer
                    == "the admin token is vera's, a viewer, who may read; this takes an operator's, "
                    + "or for a kill or a purge a killer's"
            )
            let killer = try await detail("killer-canary", "/v1/revive")
            #expect(
                killer
                    == "the admin token is kim's, a killer, who may read, kill and purge caches; this takes an operator's"
            )
        }
    }

    @Test func `a refusal logs a warning with the administrator and the route, once a minute for each`() async throws {
        try await AdminFixture.run(tokens: Self.tokens) { admin in
            // Given a viewer and a killer who repeatedly try forbidden changes
            let attempts: [(String, HTTPMethod, String)] = [
                ("viewer-canary", .PUT, "/v1/accounts/path-canary/tokens"), ("killer-canary", .POST, "/v1/revive"),
                ("viewer-canary", .POST, "/v1/kill"),
            ]
            for _ in 0..<3 {
                for (token, method, path) in attempts {
                    let answer = try await admin.caller.send(method, path, authorization: "Bearer \(token)", bytes: [])
                    #expect(answer.problem == "role_forbidden")
                }
            }

            // Then each has one log line, without tokens and without the names in the path
            let lines = admin.logs.lines.filter { $0.contains("an administrator asked for") }
            let text = "warning an administrator asked for what their role does not permit"
            #expect(
                lines == [
                    "\(text) admin.method=PUT admin.name=vera admin.role=viewer admin.route=/v1/accounts/{name}/tokens",
                    "\(text) admin.method=POST admin.name=kim admin.role=killer admin.route=/v1/revive",
                ]
            )
        }
    }

    private struct Page: Decodable {
        let audit: [Record]

        struct Record: Decodable {
            let action: String
            let actor: String
            let name: String?
            let from: String?
        }
    }

    @Test func `the audit log names the administrator, and has no name for an unnamed token`() async throws {
        try await AdminFixture.run(tokens: Self.tokens) { admin in
            for token in ["killer-canary", "unnamed-canary"] {
                let kill = Array(Self.kill.utf8)
                try await admin.caller.send(.POST, "/v1/kill", authorization: "Bearer \(token)", bytes: kill)
            }
            let answer = try await admin.caller.send(.GET, "/v1/audit", authorization: "Bearer viewer-canary")
            let records = try answer.read(Page.self).audit
            #expect(records.map(\.name) == ["kim", "kim", nil, nil])
            #expect(records.allSatisfy { $0.actor == "admin" && $0.from?.hasPrefix("127.0.0.1:") == true })
            #expect(admin.logs.text.contains("audit.actor=kim@127.0.0.1:"))
        }
    }

    @Test func `a kill that waited for the store is recorded with the name of its administrator`() async throws {
        try await AdminFixture.run(tokens: Self.tokens) { admin in
            admin.store.fail(.away)
            let body = Array(#"{"scope":{"account":"alice"},"reason":"drill","wait":"0s"}"#.utf8)
            try await admin.caller.send(.POST, "/v1/kill", authorization: "Bearer killer-canary", bytes: body)
            admin.store.recover()
            try await eventually("the kill to be recorded") {
                let page = try await admin.caller.send(.GET, "/v1/audit", authorization: "Bearer viewer-canary")
                guard page.body.contains("it was kept since") else { return false }
                let record = try page.read(Page.self).audit.last
                return record?.name == "kim" && record?.from?.hasPrefix("127.0.0.1:") == true
            }
        }
    }

    private struct Session: Decodable { let name: String, role: String }

    @Test func `a session has the role of its token, and its page receives the role`() async throws {
        try await AdminFixture.run(tokens: Self.tokens) { admin in
            var browser = Browser(admin)
            let answer = try await browser.signIn("viewer-canary")
            let session = try answer.read(Session.self)
            #expect(session.name == "vera" && session.role == "viewer")
            let status = try await browser.send(.GET, "/v1/status")
            #expect(status.status == 200)
            let kill = try await browser.send(.POST, "/v1/kill", Self.kill)
            #expect(kill.problem == "role_forbidden")

            var other = Browser(admin)
            try await other.signIn("killer-canary")
            let killed = try await other.send(.POST, "/v1/kill", Self.kill)
            #expect(killed.status == 200)
            let page = try await other.send(.GET, "/v1/audit").read(Page.self)
            #expect(page.audit.first?.name == "kim")
            let revival = try await other.send(.POST, "/v1/revive", Self.kill)
            #expect(revival.problem == "role_forbidden")
        }
    }

    @Test func `a changed role of a token counts at once and ends its sessions`() async throws {
        try await AdminFixture.run(tokens: Self.tokens) { admin in
            var browser = Browser(admin)
            try await browser.signIn("killer-canary")
            let lowered = [AdminTokens.Entry(Administrator(name: "kim", role: .viewer), Secret("killer-canary"))]
            let isNew = admin.server.replaceTokens(try #require(AdminTokens(entries: lowered)))
            #expect(isNew)
            let status = try await browser.send(.GET, "/v1/status")
            #expect(status.status == 401)
            let kill = try await admin.caller.send(
                .POST,
                "/v1/kill",
                authorization: "Bearer killer-canary",
                bytes: Array(Self.kill.utf8)
            )
            #expect(kill.problem == "role_forbidden")
        }
    }
}
