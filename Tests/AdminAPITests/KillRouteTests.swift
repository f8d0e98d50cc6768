internal import KillSwitch
internal import NIOHTTP1
internal import TestKit
internal import Testing
internal import TokenModel
internal import TokenStorage

/// The kill switch over the admin API.
@Suite struct KillRouteTests {
    /// A kill with a short wait, for tests in which it can't become complete.
    private static let hastyKill = #"{"scope":{"account":"alice"},"reason":"drill","wait":"100ms"}"#

    private struct Kill: Decodable {
        struct Scope: Decodable, Equatable {
            var all: Bool?
            var provider: String?
            var account: String?
        }
        struct Tokens: Decodable { let total: Int }
        struct Replica: Decodable { let name: String; let state: String }
        let id: String
        let scope: Scope
        let reason: String
        let state: String
        let replicas: [Replica]
        let tokens: Tokens
    }

    @Test func `given a kill request, the scope is killed and the report says so`() async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(
                .POST,
                "/v1/kill",
                #"{"scope":{"account":"alice"},"reason":"drill"}"#
            )
            #expect(answer.status == 200)
            let kill = try answer.read(Kill.self)
            #expect(kill.state == "complete")
            #expect(kill.scope == Kill.Scope(account: "alice"))
            #expect(kill.replicas.map(\.state) == ["acknowledged"])
            let shown = try await admin.caller.send(.GET, "/v1/kills/\(kill.id)")
            #expect(try shown.read(Kill.self).reason == "drill")
            #expect(try await admin.caller.send(.GET, "/v1/accounts/alice").body.contains(#""state":"killed""#))
            #expect(try await admin.caller.send(.GET, "/v1/accounts/bob").body.contains(#""state":"empty""#))
            #expect(try await admin.caller.send(.GET, "/v1/status").body.contains(#""killed":[{"account":"alice"}]"#))
            #expect(try await admin.caller.send(.GET, "/v1/replicas").body.contains(#""acknowledged":1"#))
        }
    }

    @Test func `the tokens of a kill come in pages, and a wrong query is refused`() async throws {
        struct Page: Decodable {
            struct Token: Decodable { let account: String; let kind: String }
            let tokens: [Token]
            let next: String?
        }
        try await AdminFixture.run { admin in
            // Given a kill of two tokens
            let tokens = #"{"refresh_token":"rt-canary","access_token":"at-canary","expires_in":3600}"#
            _ = try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", tokens)
            let order = #"{"scope":{"account":"alice"},"reason":"drill"}"#
            let kill = try await admin.caller.send(.POST, "/v1/kill", order).read(Kill.self)
            try await eventually("the tokens to be found") {
                try await admin.caller.send(.GET, "/v1/kills/\(kill.id)").read(Kill.self).tokens.total == 2
            }

            // When they are asked for one by one, then each comes
            var kinds: Set<String> = []
            var query = "?limit=1"
            while true {
                let answer = try await admin.caller.send(.GET, "/v1/kills/\(kill.id)/tokens\(query)")
                let page = try answer.read(Page.self)
                #expect(page.tokens.count <= 1)
                kinds.formUnion(page.tokens.map { "\($0.account) \($0.kind)" })
                guard let next = page.next else { break }
                query = "?after=\(next)&limit=1"
            }
            #expect(kinds == ["alice refresh", "alice access"])
            for query in ["limit=0", "limit=1001", "limit=1&limit=1", "after=", "after=a%20b", "before=a", "limit"] {
                let answer = try await admin.caller.send(.GET, "/v1/kills/\(kill.id)/tokens?\(query)")
                #expect(answer.status == 400, "\(query)")
            }
        }
    }

    @Test func `given a kill, an import is a conflict until the scope is revived`() async throws {
        try await AdminFixture.run { admin in
            _ = try await admin.caller.send(.POST, "/v1/kill", #"{"scope":{"all":true},"reason":"drill"}"#)
            let tokens = #"{"refresh_token":"rt-canary"}"#
            let early = try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", tokens)
            #expect(early.status == 409)
            let wrong = try await admin.caller.send(
                .POST,
                "/v1/revive",
                #"{"scope":{"account":"alice"},"reason":"over"}"#
            )
            #expect(wrong.status == 409)
            #expect(wrong.detail?.hasSuffix("but everything is: martlet revive --all --reason TEXT lifts that") == true)
            let right = try await admin.caller.send(.POST, "/v1/revive", #"{"scope":{"all":true},"reason":"over"}"#)
            #expect(right.status == 200)
            #expect(right.body.contains(#""killed":[]"#))
            #expect(try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", tokens).status == 200)
        }
    }

    @Test(arguments: [
        (#"{"reason":"drill"}"#, "scope"),
        (#"{"scope":{},"reason":"drill"}"#, "scope"),
        (#"{"scope":{"all":false},"reason":"drill"}"#, "scope"),
        (#"{"scope":{"all":true,"account":"alice"},"reason":"drill"}"#, "scope"),
        (#"{"scope":{"all":true}}"#, "reason"),
        (#"{"scope":{"all":true},"reason":"a\u0007b"}"#, "reason"),
        (#"{"scope":{"all":true},"reason":"  "}"#, "reason"),
        (#"{"scope":{"provider":"\#(String(repeating: "é", count: 65))"},"reason":"drill"}"#, "scope"),
        (#"{"scope":{"all":true},"reason":"drill","wait":"15"}"#, "wait"),
        (#"{"scope":{"all":true},"reason":"drill","wait":"1h"}"#, "wait"),
        (#"{"scope":{"all":true},"reason":"drill","streams":"cut"}"#, "streams"),
    ])
    func `given an invalid kill request, nothing is killed and the field is named`(
        _ order: String,
        _ field: String
    ) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.POST, "/v1/kill", order)
            #expect(answer.status == 400)
            #expect(answer.body.contains(#""field":"\#(field)""#))
            #expect(try await admin.caller.send(.GET, "/v1/kills").body == "{\"kills\":[],\"store\":\"reachable\"}\n")
        }
    }

    @Test(
        arguments: [
            (#"{"account":"alise"}"#, "alice"), (#"{"provider":"acne"}"#, "acme"), (#"{"account":"zebra"}"#, nil),
            (#"{"provider":"zebra"}"#, nil), (#"{"provider":"\#(String(repeating: "é", count: 64))"}"#, nil),
        ] as [(String, String?)]
    )
    func `given an unknown name, nothing is done and a similar name is suggested`(
        _ scope: String,
        _ meant: String?
    ) async throws {
        try await AdminFixture.run { admin in
            for path in ["/v1/kill", "/v1/revive"] {
                let answer = try await admin.caller.send(.POST, path, #"{"scope":\#(scope),"reason":"drill"}"#)
                #expect(answer.status == 404)
                let detail = try #require(answer.detail)
                if let meant {
                    #expect(detail.hasSuffix("; did you mean \(meant)?"))
                } else {
                    #expect(!detail.contains("did you mean"))
                }
            }
            #expect(admin.kills.killedScopes.isEmpty)
        }
    }

    @Test func `given an unavailable store, a kill holds on this replica and says that it is not stored`() async throws
    {
        try await AdminFixture.run { admin in
            admin.store.fail(.away)
            let answer = try await admin.caller.send(.POST, "/v1/kill", Self.hastyKill)
            #expect(answer.status == 200)
            #expect(answer.body.contains(#""state":"pending""#))
            #expect(answer.body.contains(#""store":"unreachable""#))
            #expect(answer.body.contains(#""epoch":null"#))
            let kills = try await admin.caller.send(.GET, "/v1/kills")
            #expect(kills.body.contains(#""store":"unreachable""#))
            #expect(kills.body.hasSuffix("],\"store\":\"unreachable\"}\n"))
            let status = try await admin.caller.send(.GET, "/v1/status")
            #expect(status.body.contains(#""waiting_kills":[{"account":"alice"}]"#))
            #expect(status.body.contains(#""killed":[{"account":"alice"}]"#))
        }
    }

    @Test
    func `I20_given a kill during a store outage, the audit log has it when the store is back`() async throws {
        try await AdminFixture.run { admin in
            admin.store.fail(.away)
            let answer = try await admin.caller.send(.POST, "/v1/kill", Self.hastyKill)
            #expect(answer.body.contains(#""audited":false"#))
            admin.store.recover()
            _ = try await admin.kills.read()
            try await eventually("the record") {
                try await admin.caller.send(.GET, "/v1/audit").body.contains("it was kept since")
            }
            let audit = try await admin.caller.send(.GET, "/v1/audit").body
            for part in [#""action":"kill""#, #""outcome":"stands""#, #""reason":"drill""#, "epoch 1"] {
                #expect(audit.contains(part), "\(part)")
            }
        }
    }

    @Test
    func `I20_given a kill during a store outage that completes within its wait, the audit log has it once`()
        async throws
    {
        try await AdminFixture.run { admin in
            admin.store.fail(.away)
            async let answering = admin.caller.send(
                .POST,
                "/v1/kill",
                #"{"scope":{"account":"alice"},"reason":"drill","wait":"50s"}"#
            )
            try await eventually("the kill to be kept, and not announced") {
                !admin.kills.waitingScopes.isEmpty && admin.logs.text.contains("a kill goes ahead without a record")
            }
            admin.store.recover()
            let answer = try await answering
            #expect(answer.body.contains(#""state":"complete""#))
            #expect(answer.body.contains(#""audited":false"#))
            try await eventually("the record") {
                try await admin.caller.send(.GET, "/v1/audit").body.contains("it was kept since")
            }
            let audit = try await admin.caller.send(.GET, "/v1/audit").body
            #expect(audit.ranges(of: #""action":"kill""#).count == 1, "\(audit)")
        }
    }

    @Test func `I20_given a stored and pending kill whose announcement was not recorded, the audit log has it`()
        async throws
    {
        try await AdminFixture.run { admin in
            let lost = ReplicaRecord(
                incarnation: .random(),
                name: "lost",
                lease: .seconds(300),
                joinedAt: Timepiece.system.now.wall
            )
            _ = try await ReplicaVault(admin.records).write(lost, for: .random(), expecting: nil)
            admin.store.fail(.full, [.write], under: .audit, times: 1)
            let answer = try await admin.caller.send(.POST, "/v1/kill", Self.hastyKill)
            #expect(answer.body.contains(#""state":"pending""#))
            #expect(answer.body.contains(#""audited":true"#))
            let audit = try await admin.caller.send(.GET, "/v1/audit").body
            for part in [#""outcome":"pending""#, #""reason":"drill""#, "epoch 1"] {
                #expect(audit.contains(part), "\(part)")
            }
        }
    }

    @Test func `given a revive, it returns its epoch and the kills that it lifted`() async throws {
        try await AdminFixture.run { admin in
            let order = #"{"scope":{"account":"alice"},"reason":"drill"}"#
            let first = try await admin.caller.send(.POST, "/v1/kill", order)
            #expect(first.body.contains(#""was_killed":false"#))
            let second = try await admin.caller.send(.POST, "/v1/kill", order)
            #expect(second.body.contains(#""was_killed":true"#))
            let ids = [try first.read(Kill.self).id, try second.read(Kill.self).id]
            let revival = try await admin.caller.send(.POST, "/v1/revive", order)
            #expect(revival.body.contains(#""epoch":3"#))
            #expect(
                revival.body.contains(#""lifted":[{"epoch":1,"id":"\#(ids[0])"},{"epoch":2,"id":"\#(ids[1])"}]"#)
            )
        }
    }

    @Test(
        arguments: [
            ([], "account alice is not killed; martlet status shows what is"),
            (
                [#"{"provider":"acme"}"#],
                "account alice is not killed by itself, but provider acme is: "
                    + "martlet revive --provider acme --reason TEXT lifts that"
            ),
            (
                [#"{"all":true}"#, #"{"provider":"acme"}"#],
                "account alice is not killed by itself, but provider acme and everything are: "
                    + "martlet revive --provider acme --reason TEXT and martlet revive --all --reason TEXT lift that"
            ),
        ] as [([String], String)]
    )
    func `given an account that is killed by a wider scope, its revive names that scope`(
        _ killed: [String],
        _ detail: String
    ) async throws {
        try await AdminFixture.run { admin in
            for scope in killed {
                let kill = try await admin.caller.send(.POST, "/v1/kill", #"{"scope":\#(scope),"reason":"drill"}"#)
                #expect(kill.status == 200)
            }
            let answer = try await admin.caller.send(
                .POST,
                "/v1/revive",
                #"{"scope":{"account":"alice"},"reason":"over"}"#
            )
            #expect(answer.status == 409)
            #expect(answer.problem == "conflict")
            #expect(answer.detail == detail)
        }
    }

    @Test func `given the replica that responds, or an unknown one, none is forgotten`() async throws {
        try await AdminFixture.run { admin in
            let own = try await admin.caller.send(.DELETE, "/v1/replicas/a")
            #expect(own.status == 409)
            let unknown = try await admin.caller.send(.DELETE, "/v1/replicas/nobody")
            #expect(unknown.status == 404)
            #expect(try await admin.kills.listReplicas().count == 1)
        }
    }
}
