internal import AdminAPI
internal import Audit
internal import NIOHTTP1
internal import TestKit
internal import Testing
internal import TokenModel

/// The response caches of the process, and their purge.
@Suite struct CacheRouteTests {
    private static let purge = "/v1/cache/purge"

    struct Page: Decodable {
        struct Record: Decodable {
            struct Scope: Decodable, Equatable {
                let all: Bool?
                let account: String?
            }

            let action: String
            let scope: Scope?
            let outcome: String?
            let detail: String?
        }

        let audit: [Record]
    }

    @Test func `each route with a cache is shown with what it holds and has done`() async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.GET, "/v1/cache")
            #expect(answer.status == 200)
            let first =
                #"{"bytes":3,"entries":2,"evictions":8,"hits":5,"max_bytes":4,"misses":6,"revalidations":7,"route":"acme"}"#
            let second =
                #"{"bytes":30,"entries":20,"evictions":80,"hits":50,"max_bytes":40,"misses":60,"revalidations":70,"#
                + #""route":"raw"}"#
            #expect(answer.body == #"{"caches":[\#(first),\#(second)]}"# + "\n")
        }
    }

    @Test(
        arguments: [
            ("{}", .init(route: nil, account: nil, path: nil)),
            (#"{"route":null,"account":null,"path":null}"#, .init(route: nil, account: nil, path: nil)),
            (#"{"route":"raw"}"#, .init(route: "raw", account: nil, path: nil)),
            (#"{"account":"alice"}"#, .init(route: nil, account: AccountID("alice"), path: nil)),
            (#"{"path":"/"}"#, .init(route: nil, account: nil, path: "/")),
            (
                #"{"route":"acme","account":"bob","path":"/acme/users?page=2"}"#,
                .init(route: "acme", account: AccountID("bob"), path: "/acme/users?page=2")
            ),
        ] as [(String, ScriptedCaches.Purge)]
    )
    func `a purge removes what matches all that is named, and says how much that was`(
        body: String,
        purge: ScriptedCaches.Purge
    ) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.POST, Self.purge, body)
            #expect(answer.status == 200)
            #expect(answer.body == #"{"bytes":4096,"entries":3}"# + "\n")
            #expect(answer.headers.first(name: "martlet-gateway")?.hasPrefix("a ") == true)
            #expect(admin.caches.purges == [purge])
        }
    }

    private static let noRoute =
        "the configuration has no route of that name with a cache; martlet cache shows those that have one"
    private static let noAccount =
        "neither the configuration nor the store has an account of that name; martlet accounts list shows them"

    @Test(arguments: [
        (#"{"route":"acne"}"#, "\(Self.noRoute); did you mean acme?"),
        (#"{"route":"acne","account":"alice"}"#, "\(Self.noRoute); did you mean acme?"),
        (#"{"account":"alcie"}"#, "\(Self.noAccount); did you mean alice?"),
        (#"{"route":"acme","account":"alcie"}"#, "\(Self.noAccount); did you mean alice?"),
        (#"{"route":""}"#, Self.noRoute), (#"{"account":""}"#, Self.noAccount),
        (#"{"route":"canary"}"#, Self.noRoute), (#"{"account":"canary"}"#, Self.noAccount),
    ])
    func `an unknown route or account is refused with the name that was probably meant, and purges nothing`(
        body: String,
        detail: String
    ) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.POST, Self.purge, body)
            #expect(answer.status == 404)
            #expect(answer.problem == "not_found")
            #expect(answer.detail == detail)
            #expect(admin.caches.purges.isEmpty)
            #expect(try await admin.audit.log.lastNumber() == 0)
        }
    }

    @Test(arguments: [
        ("", "body"), ("[]", "body"), (#"{"route":1}"#, "route"), (#"{"account":["alice"]}"#, "account"),
        (#"{"path":"acme"}"#, "path"), (#"{"path":""}"#, "path"), (#"{"path":"/\u0000"}"#, "path"),
        (#"{"routes":"acme"}"#, "routes"), ("{\"route\":\"\(String(repeating: "a", count: 65))\"}", "route"),
    ])
    func `an invalid order is refused with the name of its field, and purges nothing`(
        body: String,
        field: String
    ) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.POST, Self.purge, body)
            #expect(answer.status == 400)
            #expect(answer.field == field)
            #expect(admin.caches.purges.isEmpty)
        }
    }

    @Test(
        arguments: [
            ("{}", Page.Record.Scope(all: true, account: nil), nil),
            (#"{"route":"acme"}"#, nil, "route acme"),
            (#"{"account":"alice"}"#, Page.Record.Scope(all: nil, account: "alice"), nil),
            (
                #"{"account":"alice","route":"acme","path":"/a/b?key=canary"}"#,
                Page.Record.Scope(all: nil, account: "alice"), "route acme, path /a/b with a query"
            ),
        ] as [(String, Page.Record.Scope?, String?)]
    )
    func `a purge is recorded before and after, with what it was of and no query`(
        body: String,
        scope: Page.Record.Scope?,
        announcement: String?
    ) async throws {
        try await AdminFixture.run { admin in
            try await admin.caller.send(.POST, Self.purge, body)
            let records = try await admin.caller.send(.GET, "/v1/audit").read(Page.self).audit
            #expect(records.map(\.action) == ["cache_purge", "cache_purge"])
            #expect(records.map(\.scope) == [scope, scope])
            #expect(records.map(\.outcome) == [nil, "done"])
            #expect(records.map(\.detail) == [announcement, "3 responses, 4096 bytes"])
        }
    }

    @Test func `a purge that can't be recorded is not made`() async throws {
        try await AdminFixture.run { admin in
            admin.store.fail(.away)
            let answer = try await admin.caller.send(.POST, Self.purge, "{}")
            #expect(answer.status == 503)
            #expect(answer.problem == "audit_unavailable")
            #expect(admin.caches.purges.isEmpty)
            admin.store.recover()
        }
    }

    @Test func `the caches need a token, take no query and have these methods only`() async throws {
        try await AdminFixture.run { (admin) async throws in
            for path in ["/v1/cache", Self.purge] {
                #expect(try await admin.caller.send(.GET, path, authorization: nil).status == 401)
            }
            #expect(try await admin.caller.send(.GET, "/v1/cache?route=acme").problem == "invalid_field")
            #expect(try await admin.caller.send(.DELETE, "/v1/cache").headers["allow"] == ["GET, HEAD"])
            #expect(try await admin.caller.send(.GET, Self.purge).headers["allow"] == ["POST"])
            #expect(try await admin.caller.send(.GET, "/v1/cache/acme").problem == "not_found")
        }
    }
}
