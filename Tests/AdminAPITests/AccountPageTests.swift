internal import AdminAPI
internal import NIOHTTP1
internal import Testing

@Suite struct AccountPageTests {
    @Test(
        arguments: [
            ("limit=1", ["alice"], "alice"), ("limit=1&after=alice", ["bob"], nil), ("limit=2", ["alice", "bob"], nil),
            ("after=bob", [], nil), ("prefix=al", ["alice"], nil), ("prefix=b%6Fb", ["bob"], nil),
            ("prefix=x", [], nil),
            ("provider=acme&prefix=bo", ["bob"], nil), ("provider=beta", [], nil), ("state=valid", ["alice"], nil),
            ("state=killed,empty", ["bob"], nil), ("state=valid,empty&limit=1", ["alice"], "alice"),
        ] as [(String, [String], String?)]
    )
    func `a query selects accounts, and the response names the next page`(
        query: String,
        names: [String],
        next: String?
    ) async throws {
        try await AdminFixture.run { admin in
            try await admin.caller.send(
                .PUT,
                "/v1/accounts/alice/tokens",
                #"{"refresh_token": "refresh-canary", "access_token": "access-canary"}"#
            )
            let page = try await admin.caller.send(.GET, "/v1/accounts?\(query)").read(Accounts.self)
            #expect(page.accounts.map(\.name) == names)
            #expect(page.next == next)
        }
    }

    @Test func `existing members of a family are listed page by page`() async throws {
        try await AdminFixture.run { admin in
            for number in 1...5 {
                let tokens = #"{"refresh_token": "canary-\#(number)"}"#
                try await admin.caller.send(.PUT, "/v1/accounts/customer-\(number)/tokens", tokens)
            }
            var names: [String] = []
            var after = ""
            while true {
                let path = "/v1/accounts?prefix=customer-&limit=2\(after)"
                let page = try await admin.caller.send(.GET, path).read(Accounts.self)
                #expect(page.accounts.count <= 2)
                names += page.accounts.map(\.name)
                guard let next = page.next else { break }
                after = "&after=\(next)"
            }
            #expect(names == (1...5).map { "customer-\($0)" })
        }
    }

    @Test(arguments: [
        ("limit=0", "limit"), ("limit=1001", "limit"), ("limit=%2B5", "limit"), ("limit=ten", "limit"),
        ("limit=5&limit=5", "limit"), ("limit=", "limit"), ("state=", "state"), ("state=valid,", "state"),
        ("state=canary", "state"), ("after=", "after"), ("prefix=%0A", "prefix"),
        ("prefix=%FF", "prefix"), ("prefix=\(String(repeating: "a", count: 257))", "prefix"), ("provider=", "provider"),
        ("", "query"), ("canary=1", "query"), ("limit", "query"), ("limit=1&", "query"),
    ])
    func `a wrong query is refused and names the parameter`(query: String, field: String) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.GET, "/v1/accounts?\(query)")
            #expect(answer.status == 400)
            #expect(answer.problem == "invalid_field")
            #expect(answer.field == field)
        }
    }
}
