internal import AdminAPI
internal import Audit
internal import Foundation
internal import NIOHTTP1
internal import TestKit
internal import Testing
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

@Suite struct ImportRouteTests {
    typealias Line = ImportConnection.Line

    private static let alice = #"{"account": "alice", "tokens": {"refresh_token": "alice-canary"}}"#
    private static let bob =
        #"{"account": "bob", "tokens": {"refresh_token": "bob-canary", "access_token": "access-canary", "expires_in": 60}}"#

    /// Sends an import whole, and reads its response.
    private static func send(
        _ text: String,
        query: String = "",
        token: String = AdminFixture.adminToken,
        to admin: AdminFixture
    ) async throws -> [Line] {
        let answer = try await admin.caller.send(
            .POST,
            "/v1/imports\(query)",
            authorization: "Bearer \(token)",
            bytes: Array(text.utf8)
        )
        #expect(answer.status == 200, "\(answer.body)")
        #expect(answer.headers.first(name: "content-type") == "application/x-ndjson")
        return try answer.body.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    @Test func `each line has its result in order, and the last line has the numbers`() async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.POST, "/v1/imports", "\(Self.bob)\n\n\(Self.alice)\n")

            #expect(
                answer.body == """
                    {"account":"bob","line":1,"result":"imported"}
                    {"account":"alice","line":3,"result":"imported"}
                    {"done":true,"imported":2,"refused":0,"replaced":0,"skipped":0}

                    """
            )
            let record = try #require(try await admin.vault.read(AccountID("bob"))).record
            #expect(record.tokens?.accessToken == Secret("access-canary"))
            #expect(record.tokens?.refreshToken == Secret("bob-canary"))
            #expect(record.tokens?.lifetime == .seconds(60))
            #expect(try await admin.vault.read(AccountID("alice"))?.record.tokens?.accessToken == nil)
        }
    }

    @Test func `an import of nothing has the numbers alone`() async throws {
        try await AdminFixture.run { admin in
            let lines = try await Self.send("\n \r\n", to: admin)
            #expect(lines.map(\.done) == [true])
            #expect(try await admin.audit.log.lastNumber() == 0)
        }
    }

    @Test(arguments: [
        ("canary", "invalid_field", "the line is not JSON from byte 0 on"),
        (#"["canary"]"#, "invalid_field", "the line is not a JSON object"),
        (#"{"account": "alice", "account": "canary"}"#, "invalid_field", "an object in the line has the same name twice"),
        (#"{"tokens": {"refresh_token": "canary"}}"#, "invalid_field", "account is missing"),
        (#"{"account": 7, "tokens": {}}"#, "invalid_field", "account is not a string"),
        (#"{"account": "alice\n", "tokens": {}}"#, "invalid_field", "account is not text of at most 256 characters"),
        (#"{"account": "alice"}"#, "invalid_field", "tokens is missing"),
        (#"{"account": "alice", "tokens": "canary"}"#, "invalid_field", "tokens is not an object"),
        (#"{"account": "alice", "tokens": {}}"#, "invalid_field", "refresh_token is missing"),
        (#"{"account": "alice", "tokens": {"refresh_token": "a canary"}}"#, "invalid_field", "refresh_token is no token"),
        (
            #"{"account": "alice", "tokens": {"refresh_token": "canary", "canary.0123": 1}}"#, "invalid_field",
            "the tokens has an unknown field"
        ),
        (
            #"{"account": "alice", "tokens": {"refresh_token": "canary"}, "scope": ""}"#, "invalid_field",
            "scope is an unknown field; there are account, tokens"
        ),
        (#"{"account": "canary", "tokens": {"refresh_token": "x"}}"#, "not_found", "the configuration has no account"),
        (
            #"{"account": "alice", "tokens": {"refresh_token": "\#(AdminFixture.adminToken)"}}"#, "invalid_field",
            "refresh_token is an admin token"
        ),
        (
            #"{"account": "alice", "tokens": {"refresh_token": "\#(ScriptedTokenEndpoint.clientSecret)"}}"#,
            "invalid_field", "account alice: refresh_token is the client_secret of provider acme"
        ),
        (String(repeating: "canary", count: 11_000), "invalid_field", "the line has more than 65536 bytes"),
    ])
    func `a line that is wrong is refused by its number, repeats nothing, and the others are imported`(
        wrong: String,
        reason: String,
        message: String
    ) async throws {
        try await AdminFixture.run { admin in
            let lines = try await Self.send("\(wrong)\n\(Self.bob)\n", to: admin)

            #expect(lines.map(\.line) == [1, 2, nil])
            #expect(lines.map(\.result) == ["refused", "imported", nil])
            #expect(lines.first?.reason == reason)
            #expect(lines.first?.message?.hasPrefix(message) == true, "\(lines.first?.message ?? "")")
            #expect(lines.last?.imported == 1 && lines.last?.refused == 1)
            #expect(try await admin.vault.read(AccountID("alice")) == nil)
        }
    }

    @Test func `a line of any length is read past`() async throws {
        try await AdminFixture.run { admin in
            let padding = String(repeating: "canary ", count: 1_500_000)
            let lines = try await Self.send("\(Self.alice)\n\(padding)\n\(Self.bob)", to: admin)
            #expect(lines.map(\.result) == ["imported", "refused", "imported", nil])
            #expect(lines.map(\.line) == [1, 2, 3, nil])
        }
    }

    @Test func `results arrive while the request is still being sent`() async throws {
        try await AdminFixture.run { admin in
            try await ImportConnection.run(to: admin) { client in
                // Given a client that has sent one line and a half
                try await client.send("\(Self.alice)\n\(Self.bob.prefix(20))")

                // Then it gets the result of the first
                #expect(try await client.next()?.account == "alice")
                #expect(client.status == 200)

                // And when it goes on, those of the others
                try await client.send("\(Self.bob.dropFirst(20))\n")
                #expect(try await client.next()?.account == "bob")
                try await client.finish()
                #expect(try await client.next()?.imported == 2)
                #expect(try await client.next() == nil)
            }
        }
    }

    @Test func `given more lines than a batch, each is answered in its order`() async throws {
        try await AdminFixture.run { admin in
            let count = 3 * RefreshEngine.largestImport + 5
            let lines = try await Self.send(String(repeating: "{}\n", count: count), to: admin)
            #expect(lines.dropLast().map(\.line) == Array(1...count))
            #expect(lines.last?.refused == count)
        }
    }

    @Test func `a client that sends nothing for a while is cut off, and has no last line`() async throws {
        try await AdminFixture.run(limits: AdminLimits(bodyTime: .milliseconds(50))) { admin in
            try await ImportConnection.run(to: admin) { client in
                try await client.send("\(Self.alice)\n")
                var lines: [Line] = []
                // The connection ends with or without an error of the parser.
                while let line = try? await client.next() { lines.append(line) }
                #expect(lines.allSatisfy { $0.done == nil })
            }
            #expect(try await admin.vault.read(AccountID("alice")) != nil)
        }
    }

    @Test func `a client that does not read is soon not read either`() async throws {
        // The connection of a client that is not read any more is idle.
        try await AdminFixture.run(limits: AdminLimits(idleTime: .milliseconds(500))) { admin in
            let sent = Tally()
            try await ImportConnection.run(to: admin) { client in
                let lines = String(repeating: "{}\n", count: 350_000)
                while (try? await client.send(lines)) != nil { sent.add() }
            }
            // 64 MiB are far more than fits into the buffers of the kernel and of both sides.
            #expect(sent.count < 64)
        }
    }

    @Test func `a client that goes away ends the import`() async throws {
        try await AdminFixture.run { admin in
            try await ImportConnection.run(to: admin) { client in
                try await client.send("\(Self.alice)\n")
                _ = try await client.next()
                try await client.send("\(Self.bob)")
            }
            // The half line is not taken for a whole one. A request that comes later shows that nothing hangs.
            #expect(try await admin.caller.send(.GET, "/v1/accounts/bob").read(Account.self).state == "empty")
        }
    }

    @Test func `given a lock, an import is refused, and one that is under way is refused line by line`() async throws {
        try await AdminFixture.run { admin in
            try await ImportConnection.run(to: admin) { client in
                try await client.send("\(Self.alice)\n")
                #expect(try await client.next()?.result == "imported")
                admin.close()
                try await client.send("\(Self.bob)\n")
                #expect(try await client.next()?.reason == "locked")
                try await client.finish()
                #expect(try await client.next()?.refused == 1)
            }
            let answer = try await admin.caller.send(.POST, "/v1/imports", Self.bob)
            #expect(answer.status == 503 && answer.problem == "locked")
            #expect(try await admin.vault.read(AccountID("bob")) == nil)
        }
    }

    @Test(arguments: [
        ("existing=none", "existing"), ("existing=", "existing"), ("existing=skip&existing=fail", "existing"),
        ("existing=%zz", "existing"), ("all", "query"), ("canary=skip", "query"),
    ])
    func `a wrong query is refused before anything is read`(query: String, field: String) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.POST, "/v1/imports?\(query)", Self.alice)
            #expect(answer.status == 400)
            #expect(answer.field == field)
            #expect(try await admin.vault.read(AccountID("alice")) == nil)
        }
    }

    /// A line for each of these members of the family.
    private static func customers(_ numbers: some Sequence<Int>, _ token: String = "canary") -> String {
        numbers.map { #"{"account": "customer-\#($0)", "tokens": {"refresh_token": "\#(token)-\#($0)"}}"# + "\n" }.joined()
    }

    @Test func `members of a family exist from their import on`() async throws {
        try await AdminFixture.run { admin in
            let lines = try await Self.send(Self.customers(1...600), to: admin)
            #expect(lines.dropLast().map(\.account) == (1...600).map { "customer-\($0)" })
            #expect(lines.last?.imported == 600)
            #expect(admin.engine.exists(AccountID("customer-600")) && !admin.engine.exists(AccountID("customer-601")))
        }
    }

    @Test(arguments: [
        ("skip", "skipped", "exists", "old"), ("replace", "replaced", nil, "new"), ("fail", "refused", "exists", "old"),
    ] as [(String, String, String?, String)])
    func `an account that exists is skipped, replaced or refused`(
        existing: String,
        result: String,
        reason: String?,
        kept: String
    ) async throws {
        try await AdminFixture.run { admin in
            _ = try await Self.send(Self.customers([1], "old-canary"), to: admin)
            let lines = try await Self.send(
                Self.customers([1], "new-canary") + Self.customers([2]),
                query: "?existing=\(existing)",
                to: admin
            )
            #expect(lines.map(\.result) == [result, "imported", nil])
            #expect(lines.first?.reason == reason)
            let record = try await admin.vault.read(AccountID("customer-1"))?.record
            #expect(record?.tokens?.refreshToken == Secret("\(kept)-canary-1"))
        }
    }

    @Test func `a token that was imported for its account before is skipped`() async throws {
        try await AdminFixture.run { admin in
            for _ in 0..<2 { _ = try await Self.send(Self.customers([1]), query: "?existing=replace", to: admin) }
            let lines = try await Self.send(Self.customers([1]), query: "?existing=replace", to: admin)
            #expect(lines.map(\.reason) == ["imported_before", nil])
            #expect(lines.last?.skipped == 1)
        }
    }

    @Test func `an account that is twice in a batch sees its first import`() async throws {
        try await AdminFixture.run { admin in
            let lines = try await Self.send(Self.customers([1, 2, 1, 2, 3]), to: admin)
            #expect(lines.map(\.result) == ["imported", "imported", "skipped", "skipped", "imported", nil])
        }
    }

    @Test func `a full family refuses more accounts, and a single import says so too`() async throws {
        try await AdminFixture.run(mostMembers: 2) { admin in
            let lines = try await Self.send(Self.customers(1...4), to: admin)
            #expect(lines.last?.imported == 2 && lines.last?.refused == 2)
            #expect(lines.filter { $0.result == "refused" }.map(\.reason) == ["family_full", "family_full"])

            let body = #"{"refresh_token": "canary"}"#
            let refused = try await admin.caller.send(.PUT, "/v1/accounts/customer-9/tokens", body)
            #expect(refused.status == 409 && refused.problem == "conflict")
        }
    }

    @Test func `the results of a killed account say so`() async throws {
        try await AdminFixture.run { admin in
            try await admin.caller.send(.POST, "/v1/kill", #"{"scope":{"account":"alice"},"reason":"drill"}"#)
            let lines = try await Self.send("\(Self.alice)\n\(Self.bob)\n", to: admin)
            #expect(lines.map(\.reason) == ["killed", nil, nil])
            #expect(lines.map(\.result) == ["refused", "imported", nil])
        }
    }
}

// MARK: - Records

extension ImportRouteTests {
    private struct Page: Decodable {
        let audit: [Record]

        struct Record: Decodable {
            let action: String
            let outcome: String?
            let detail: String?
            let scope: [String: String]?
        }
    }

    private static func records(of admin: AdminFixture) async throws -> [Page.Record] {
        try await admin.caller.send(.GET, "/v1/audit").read(Page.self).audit
    }

    @Test func `a batch has one record before it and one after, with names and numbers`() async throws {
        try await AdminFixture.run { admin in
            _ = try await Self.send("\(Self.alice)\ncanary\n\(Self.bob)\n\(Self.alice)\n", to: admin)

            let records = try await Self.records(of: admin)
            #expect(records.map(\.action) == ["import", "import"])
            #expect(records.map(\.outcome) == [nil, "done"])
            #expect(records.first?.detail == "3 accounts: alice, bob, alice")
            #expect(records.last?.detail == "2 imported, 0 replaced, 1 skipped, 0 refused")
        }
    }

    @Test func `a single account is the scope of its records`() async throws {
        try await AdminFixture.run { admin in
            _ = try await Self.send(Self.alice, to: admin)
            #expect(try await Self.records(of: admin).map(\.scope) == [["account": "alice"], ["account": "alice"]])
        }
    }

    @Test func `given more names than a record has room for, it says how many there are`() async throws {
        try await AdminFixture.run { admin in
            try await ImportConnection.run(to: admin) { client in
                try await client.send(String(repeating: "\(Self.alice)\n", count: RefreshEngine.largestImport))
                try await client.finish()
                while try await client.next() != nil {}
            }
            let detail = try #require(try await Self.records(of: admin).first?.detail)
            #expect(detail.utf8.count <= AuditRecord.longestText)
            let match = try #require(try /(\d+) accounts: (alice(?:, alice)*) and (\d+) more/.wholeMatch(in: detail)?.output)
            let named = match.2.split(separator: ",").count
            #expect(named + (Int(match.3) ?? 0) == Int(match.1))
            #expect(named > 100)
        }
    }

    @Test func `given an audit log that can't be written, nothing is imported`() async throws {
        try await AdminFixture.run { admin in
            admin.store.fail(.full)
            let lines = try await Self.send("\(Self.alice)\ncanary\n\(Self.bob)\n", to: admin)
            #expect(lines.map(\.reason) == ["audit_unavailable", "invalid_field", "audit_unavailable", nil])
            admin.store.recover()
            #expect(try await admin.vault.read(AccountID("alice")) == nil)
        }
    }
}

// MARK: - Registrars

extension ImportRouteTests {
    private static let tokens = AdminTokens(entries: [
        AdminTokens.Entry(Administrator(name: "rita", role: .registrar(.name(AccountID("alice")))), Secret("rita-canary")),
        AdminTokens.Entry(
            Administrator(name: "ruth", role: AdministratorRole("registrar:customer-*") ?? .viewer),
            Secret("ruth-canary")
        ),
        AdminTokens.Entry(.unnamed, Secret(AdminFixture.adminToken)),
    ])

    @Test func `a registrar imports for its own accounts, and other lines are refused`() async throws {
        try await AdminFixture.run(tokens: Self.tokens) { admin in
            let lines = try await Self.send("\(Self.bob)\n\(Self.alice)\n", token: "rita-canary", to: admin)
            #expect(lines.map(\.reason) == ["forbidden", nil, nil])
            #expect(lines.map(\.account) == [nil, "alice", nil])
            #expect(try await admin.vault.read(AccountID("bob")) == nil)
            #expect(try await admin.vault.read(AccountID("alice")) != nil)
        }
    }

    @Test func `a registrar of a family imports and sees its members`() async throws {
        try await AdminFixture.run(tokens: Self.tokens) { admin in
            let lines = try await Self.send("\(Self.alice)\n\(Self.customers(1...2))", token: "ruth-canary", to: admin)
            #expect(lines.map(\.reason) == ["forbidden", nil, nil, nil])
            let authorization = "Bearer ruth-canary"
            let shown = try await admin.caller.send(.GET, "/v1/accounts/customer-1", authorization: authorization)
            #expect(try shown.read(Account.self).name == "customer-1")
            let other = try await admin.caller.send(.GET, "/v1/accounts/alice", authorization: authorization)
            #expect(other.detail?.contains("ruth's, a registrar, who may import tokens for customer-*") == true)
        }
    }

    @Test(
        arguments: [
            (.GET, "/v1/accounts/alice", true), (.GET, "/v1/accounts/alice?unrevoked=true", true),
            (.GET, "/v1/accounts/bob", false), (.GET, "/v1/accounts/nobody", false),
            (.PUT, "/v1/accounts/alice/tokens", true), (.PUT, "/v1/accounts/bob/tokens", false),
            (.DELETE, "/v1/accounts/alice/tokens", false), (.POST, "/v1/accounts/alice/refresh", false),
            (.GET, "/v1/accounts", false), (.GET, "/v1/status", false), (.POST, "/v1/kill", false),
            (.GET, "/openapi.json", false), (.GET, "/metrics", false), (.GET, "/v1/audit", false),
        ] as [(HTTPMethod, String, Bool)]
    )
    func `a registrar gets no further than its own accounts`(
        method: HTTPMethod,
        path: String,
        isPermitted: Bool
    ) async throws {
        try await AdminFixture.run(tokens: Self.tokens) { admin in
            let answer = try await admin.caller.send(
                method,
                path,
                authorization: "Bearer rita-canary",
                bytes: method == .GET ? nil : Array(#"{"refresh_token": "alice-canary"}"#.utf8)
            )
            #expect(answer.status == (isPermitted ? 200 : 403))
            #expect((answer.problem == "role_forbidden") == !isPermitted)
            let warning = "an administrator asked for what their role does not permit"
            #expect(admin.logs.text.contains(warning) == !isPermitted)
        }
    }
}
