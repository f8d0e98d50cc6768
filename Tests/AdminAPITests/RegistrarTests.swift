internal import AdminAPI
internal import NIOHTTP1
internal import TestKit
internal import Testing
internal import TokenModel
internal import TokenStorage

/// What a registrar may do.
@Suite struct RegistrarTests {
    private static let tokens = AdminTokens(entries: [
        AdminTokens.Entry(
            Administrator(name: "rita", role: .registrar(.name(AccountID("alice")))),
            Secret("rita-canary")
        ),
        AdminTokens.Entry(
            Administrator(name: "ruth", role: AdministratorRole("registrar:customer-*") ?? .viewer),
            Secret("ruth-canary")
        ),
        AdminTokens.Entry(.unnamed, Secret(AdminFixture.adminToken)),
    ])

    @Test func `a registrar imports for its own accounts, and other lines are refused`() async throws {
        try await AdminFixture.run(tokens: Self.tokens) { admin in
            let lines = try await admin.importLines("\(ImportText.bob)\n\(ImportText.alice)\n", token: "rita-canary")
            #expect(lines.map(\.reason) == ["forbidden", nil, nil])
            #expect(lines.map(\.account) == [nil, "alice", nil])
            #expect(try await admin.vault.read(AccountID("bob")) == nil)
            #expect(try await admin.vault.read(AccountID("alice")) != nil)
            #expect(admin.logs.text.contains("an administrator asked for what their role does not permit"))
        }
    }

    @Test func `an overstep is logged before its result is sent, so that a client can't leave unnoticed`()
        async throws
    {
        try await AdminFixture.run(tokens: Self.tokens) { admin in
            try await ImportConnection.run(to: admin, token: "rita-canary") { client in
                try await client.send("\(ImportText.bob)\n")
                #expect(try await client.next()?.reason == "forbidden")
                #expect(admin.logs.text.contains("an administrator asked for what their role does not permit"))
            }
        }
    }

    @Test func `an import of a registrar's own accounts is no overstep`() async throws {
        try await AdminFixture.run(tokens: Self.tokens) { admin in
            let lines = try await admin.importLines("\(ImportText.alice)\nno JSON\n", token: "rita-canary")
            #expect(lines.map(\.reason) == [nil, "invalid_field", nil])
            #expect(!admin.logs.text.contains("an administrator asked for what their role does not permit"))
        }
    }

    @Test func `a registrar of a family imports and sees its members`() async throws {
        try await AdminFixture.run(tokens: Self.tokens) { admin in
            let lines = try await admin.importLines(
                "\(ImportText.alice)\n\(ImportText.customers(1...2))",
                token: "ruth-canary"
            )
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

    @Test func `a registrar's own accounts sign in, and no others`() async throws {
        try await LoginFixture.run { login in
            try await login.withAdminAPI(tokens: try #require(Self.tokens)) { caller in
                func send(_ method: HTTPMethod, _ path: String, _ body: String? = nil) async throws
                    -> AdminCaller.Answer
                {
                    try await caller.send(
                        method,
                        path,
                        authorization: "Bearer rita-canary",
                        bytes: body.map { Array($0.utf8) }
                    )
                }
                struct SignIn: Decodable { let id: String }

                // Given a sign-in of an account that is the registrar's, and another
                let own = try await send(.POST, "/v1/logins", #"{"account": "alice", "way": "paste"}"#)
                let other = try await caller.send(.POST, "/v1/logins", #"{"account": "bob", "way": "paste"}"#)
                let (id, otherID) = (try own.read(SignIn.self).id, try other.read(SignIn.self).id)

                // Then the registrar sees and ends the one, and not the other
                #expect(try await send(.GET, "/v1/logins/\(id)").status == 200)
                #expect(try await send(.DELETE, "/v1/logins/\(id)").status == 200)
                let answer = #"{"answer": "http://127.0.0.1/?code=canary"}"#
                let refused = [
                    try await send(.POST, "/v1/logins", #"{"account": "bob", "way": "paste"}"#),
                    try await send(.GET, "/v1/logins/\(otherID)"),
                    try await send(.POST, "/v1/logins/\(otherID)", answer),
                    try await send(.DELETE, "/v1/logins/\(otherID)"),
                ]
                #expect(refused.map(\.problem) == Array(repeating: "role_forbidden", count: 4))
            }
        }
    }
}
