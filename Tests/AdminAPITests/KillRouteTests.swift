internal import KillSwitch
internal import NIOHTTP1
internal import TestKit
internal import Testing

/// The kill switch over the admin API.
@Suite struct KillRouteTests {
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

    @Test func `given an order, the scope is killed and the report says so`() async throws {
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
        (#"{"scope":{"all":true},"reason":"drill","wait":"15"}"#, "wait"),
        (#"{"scope":{"all":true},"reason":"drill","wait":"1h"}"#, "wait"),
        (#"{"scope":{"all":true},"reason":"drill","streams":"cut"}"#, "streams"),
    ])
    func `given an order that is not as it should be, nothing is killed and the field is named`(
        _ order: String,
        _ field: String
    ) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.POST, "/v1/kill", order)
            #expect(answer.status == 400)
            #expect(answer.body.contains(#""field":"\#(field)""#))
            #expect(try await admin.caller.send(.GET, "/v1/kills").body == "{\"kills\":[]}\n")
        }
    }

    @Test(arguments: [#"{"account":"alise"}"#, #"{"provider":"acne"}"#])
    func `given a name that nobody knows, nothing is killed`(_ scope: String) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.POST, "/v1/kill", #"{"scope":\#(scope),"reason":"drill"}"#)
            #expect(answer.status == 404)
            #expect(admin.kills.killedScopes.isEmpty)
        }
    }

    @Test func `given a store that is away, a kill says that it does not stand`() async throws {
        try await AdminFixture.run { admin in
            admin.store.takeAway()
            let answer = try await admin.caller.send(.POST, "/v1/kill", #"{"scope":{"all":true},"reason":"drill"}"#)
            #expect(answer.status == 503)
            #expect(answer.body.contains("urn:martlet:error:store_lost"))
        }
    }
}
