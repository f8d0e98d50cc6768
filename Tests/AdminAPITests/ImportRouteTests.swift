internal import AdminAPI
internal import Audit
internal import NIOHTTP1
internal import Synchronization
internal import TestKit
internal import Testing
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

@Suite struct ImportRouteTests {
    @Test func `each line has its result in order, and the last line has the numbers`() async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.POST, "/v1/imports", "\(ImportText.bob)\n\n\(ImportText.alice)\n")

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
            let lines = try await admin.importLines("\n \r\n")
            #expect(lines.map(\.done) == [true])
            #expect(try await admin.audit.log.lastNumber() == 0)
        }
    }

    @Test func `a provider's whole token response may stand in a line`() async throws {
        let tokens = #"{"token_type": "Bearer", "refresh_token": "r1", "id_token": "x", "refresh_token_expires_in": 9}"#
        try await AdminFixture.run { admin in
            let lines = try await admin.importLines(#"{"account": "alice", "tokens": \#(tokens)}"# + "\n")
            #expect(lines.first?.result == "imported")
        }
    }

    @Test(arguments: [
        ("canary", "invalid_field", "the line is not JSON from byte 0 on"),
        (#"["canary"]"#, "invalid_field", "the line is not a JSON object"),
        (#"{"account": "bob", "account": "canary"}"#, "invalid_field", "an object in the line has the same name twice"),
        (#"{"tokens": {"refresh_token": "canary"}}"#, "invalid_field", "account is missing"),
        (#"{"account": 7, "tokens": {}}"#, "invalid_field", "account is not a string"),
        (#"{"account": "alice\n", "tokens": {}}"#, "invalid_field", "account is not text of at most 256 characters"),
        (#"{"account": "alice"}"#, "invalid_field", "tokens is missing"),
        (#"{"account": "alice", "tokens": "canary"}"#, "invalid_field", "tokens is not an object"),
        (#"{"account": "alice", "tokens": {}}"#, "invalid_field", "refresh_token is missing"),
        (#"{"account": "bob", "tokens": {"refresh_token": "a canary"}}"#, "invalid_field", "refresh_token is no token"),
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
            let lines = try await admin.importLines("\(wrong)\n\(ImportText.bob)\n")

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
            let lines = try await admin.importLines("\(ImportText.alice)\n\(padding)\n\(ImportText.bob)")
            #expect(lines.map(\.result) == ["imported", "refused", "imported", nil])
            #expect(lines.map(\.line) == [1, 2, 3, nil])
        }
    }

    @Test func `results arrive while the request is still being sent`() async throws {
        try await AdminFixture.run { admin in
            try await ImportConnection.run(to: admin) { client in
                // Given a client that has sent one line and a half
                try await client.send("\(ImportText.alice)\n\(ImportText.bob.prefix(20))")

                // Then it gets the result of the first
                #expect(try await client.next()?.account == "alice")
                #expect(client.status == 200)

                // And when it goes on, those of the others
                try await client.send("\(ImportText.bob.dropFirst(20))\n")
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
            let lines = try await admin.importLines(String(repeating: "{}\n", count: count))
            #expect(lines.dropLast().map(\.line) == Array(1...count))
            #expect(lines.last?.refused == count)
        }
    }

    @Test func `a client that sends nothing for a while is cut off, and has no last line`() async throws {
        _ = try await withEnoughTime("a line to be imported") { time in
            let stored = Mutex<AccountVault.Entry?>(nil)
            try await AdminFixture.run(limits: AdminLimits(bodyTime: time)) { admin in
                try await ImportConnection.run(to: admin) { client in
                    try await client.send("\(ImportText.alice)\n")
                    var lines: [ImportConnection.Line] = []
                    // The connection ends with or without an error of the parser.
                    while let line = try? await client.next() { lines.append(line) }
                    #expect(lines.allSatisfy { $0.done == nil })
                }
                let account = try await admin.vault.read(AccountID("alice"))
                stored.withLock { $0 = account }
            }
            return stored.withLock { $0 }
        }
    }

    @Test func `four imports may be in progress, and another one when one of them has ended`() async throws {
        try await AdminFixture.run { admin in
            try await Self.keepImporting(admin, times: 4) {
                // Given four that have sent a line and are not over
                let refused = try await admin.caller.send(.POST, "/v1/imports", "\(ImportText.alice)\n")
                #expect(refused.problem == "conflict")
                #expect(refused.status == 409)
            }
            #expect(try await admin.importLines("\(ImportText.alice)\n").last?.imported == 1)
        }
    }

    /// Runs `body` while so many imports are in progress.
    private static func keepImporting(
        _ admin: AdminFixture,
        times: Int,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        guard times > 0 else { return try await body() }
        try await ImportConnection.run(to: admin) { client in
            try await client.send(ImportText.customers(times...times))
            #expect(try await client.next()?.result == "imported")
            try await Self.keepImporting(admin, times: times - 1, body)
            try await client.finish()
            #expect(try await client.next()?.done == true)
        }
    }

    @Test func `a client that does not read is soon not read either`() async throws {
        // The connection of a client that is not read any more is idle.
        try await AdminFixture.run(limits: AdminLimits(idleTime: .milliseconds(500))) { admin in
            // The connection of one that is read does not end.
            try await ImportConnection.send("{}\n", withoutReadingTo: admin)
        }
    }

    @Test func `a client that goes away ends the import, and half a line is not taken for a whole one`() async throws {
        let vault = Mutex<AccountVault?>(nil)
        try await AdminFixture.run { admin in
            vault.withLock { $0 = admin.vault }
            try await ImportConnection.run(to: admin) { client in
                try await client.send("\(ImportText.alice)\n")
                _ = try await client.next()
                try await client.send("\(ImportText.bob)")
            }
        }
        // The admin API has stopped, so nothing of the import is left.
        let stored = try #require(vault.withLock { $0 })
        #expect(try await stored.read(AccountID("alice")) != nil)
        #expect(try await stored.read(AccountID("bob")) == nil)
    }

    @Test func `given a lock, an import is refused, and one that is under way is refused line by line`() async throws {
        try await AdminFixture.run { admin in
            try await ImportConnection.run(to: admin) { client in
                try await client.send("\(ImportText.alice)\n")
                #expect(try await client.next()?.result == "imported")
                admin.close()
                try await client.send("\(ImportText.bob)\n")
                #expect(try await client.next()?.reason == "locked")
                try await client.finish()
                #expect(try await client.next()?.refused == 1)
            }
            let answer = try await admin.caller.send(.POST, "/v1/imports", ImportText.bob)
            #expect(answer.status == 503 && answer.problem == "locked")
            #expect(try await admin.vault.read(AccountID("bob")) == nil)
        }
    }

    @Test(arguments: [
        ("existing=none", "existing"), ("existing=", "existing"), ("existing=skip&existing=fail", "existing"),
        ("all", "query"), ("canary=skip", "query"),
    ])
    func `a wrong query is refused before anything is read`(query: String, field: String) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.POST, "/v1/imports?\(query)", ImportText.alice)
            #expect(answer.status == 400)
            #expect(answer.field == field)
            #expect(try await admin.vault.read(AccountID("alice")) == nil)
        }
    }

    @Test func `members of a family exist from their import on`() async throws {
        try await AdminFixture.run { admin in
            let lines = try await admin.importLines(ImportText.customers(1...600))
            #expect(lines.dropLast().map(\.account) == (1...600).map { "customer-\($0)" })
            #expect(lines.last?.imported == 600)
            #expect(admin.engine.exists(AccountID("customer-600")) && !admin.engine.exists(AccountID("customer-601")))
        }
    }

    @Test(
        arguments: [
            ("skip", "skipped", "exists", "old"), ("replace", "replaced", nil, "new"),
            ("fail", "refused", "exists", "old"),
        ] as [(String, String, String?, String)]
    )
    func `an account that exists is skipped, replaced or refused`(
        existing: String,
        result: String,
        reason: String?,
        kept: String
    ) async throws {
        try await AdminFixture.run { admin in
            _ = try await admin.importLines(ImportText.customers([1], "old-canary"))
            let lines = try await admin.importLines(
                ImportText.customers([1], "new-canary") + ImportText.customers([2]),
                query: "?existing=\(existing)"
            )
            #expect(lines.map(\.result) == [result, "imported", nil])
            #expect(lines.first?.reason == reason)
            let record = try await admin.vault.read(AccountID("customer-1"))?.record
            #expect(record?.tokens?.refreshToken == Secret("\(kept)-canary-1"))
        }
    }

    @Test func `a token that was imported for its account before is skipped`() async throws {
        try await AdminFixture.run { admin in
            for _ in 0..<2 { _ = try await admin.importLines(ImportText.customers([1]), query: "?existing=replace") }
            let lines = try await admin.importLines(ImportText.customers([1]), query: "?existing=replace")
            #expect(lines.map(\.reason) == ["imported_before", nil])
            #expect(lines.last?.skipped == 1)
        }
    }

    @Test func `an account that is twice in a batch sees its first import`() async throws {
        try await AdminFixture.run { admin in
            // So many that no order comes about by luck
            let accounts = Array(1...40)
            let lines = try await admin.importLines(ImportText.customers(accounts + accounts + accounts))
            let results = [("imported", 40), ("skipped", 80)].flatMap { Array(repeating: String?.some($0), count: $1) }
            #expect(lines.map(\.result) == results + [nil])
        }
    }

    @Test func `a full family refuses more accounts, and a single import says so too`() async throws {
        try await AdminFixture.run(mostMembers: 2) { admin in
            let lines = try await admin.importLines(ImportText.customers(1...4))
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
            let lines = try await admin.importLines("\(ImportText.alice)\n\(ImportText.bob)\n")
            #expect(lines.map(\.reason) == ["killed", nil, nil])
            #expect(lines.map(\.result) == ["refused", "imported", nil])
        }
    }
}
