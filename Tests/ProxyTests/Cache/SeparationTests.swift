import Proxy
import TestKit
import Testing
import TokenModel

/// Which requests share a stored response, and which never may.
@Suite struct SeparationTests {
    private static let bob = AccountID("bob")

    /// A request whose response is stored, what happens then, and another request.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let isShared: Bool
        var callersShare = false
        var first = Row.request()
        var second = Row.request()
        var between: @Sendable (Rig) async throws -> Void = { _ in }

        init(
            _ name: String,
            isShared: Bool,
            callersShare: Bool = false,
            first: String = Row.request(),
            second: String = Row.request(),
            between: @escaping @Sendable (Rig) async throws -> Void = { _ in }
        ) {
            self.testDescription = name
            self.isShared = isShared
            self.callersShare = callersShare
            self.first = first
            self.second = second
            self.between = between
        }

        static func request(
            _ target: String = "/acme/a",
            key: String = "one",
            account: String = "alice",
            fields: String...
        ) -> String {
            Cached.request("GET", target, ["Martlet-Key: \(key)", "Martlet-Account: \(account)"] + fields)
        }
    }

    private static let sharing: [Row] = [
        Row("the same request", isShared: true),
        Row("callers that share", isShared: true, callersShare: true, second: Row.request(key: "two")),
        Row("a field that is no key field", isShared: true, second: Row.request(fields: "X-Other: 2")),
        Row("cookies, which do not pass", isShared: true, second: Row.request(fields: "Cookie: a=1")),
        Row("the same values of the key fields", isShared: true, first: tenants("1"), second: tenants("1")),
        Row("a refreshed token", isShared: true) { $0.install(.sample(2)) },
        Row("another spelling of the route's path", isShared: true, second: Row.request("/%61cme/a")),
        Row("a reload that changes nothing", isShared: true) { rig in
            _ = await rig.server.reload(try plan(rig, callersShare: false))
        },
        Row("a reload that changes another route", isShared: true) { rig in
            _ = await rig.server.reload(try plan(rig, callersShare: false, others: 1))
        },
        Row("another account's new grant", isShared: true) { rig in
            rig.install(.sample(2, account: bob, grant: GrantID("grant-2")))
        },
    ]

    private static let separate: [Row] = [
        Row("another caller", isShared: false, second: Row.request(key: "two")),
        Row("another account", isShared: false, second: Row.request(account: "bob")),
        Row(
            "another account of callers that share",
            isShared: false,
            callersShare: true,
            second: Row.request(key: "two", account: "bob")
        ),
        Row("another spelling of a key field", isShared: false, second: tenants("2", name: "X_Tenant")),
        Row("a query", isShared: false, second: Row.request("/acme/a?b=1")),
        Row("another query", isShared: false, first: Row.request("/acme/a?b=1"), second: Row.request("/acme/a?b=2")),
        Row("an empty query", isShared: false, second: Row.request("/acme/a?")),
        Row("another path", isShared: false, second: Row.request("/acme/A")),
        Row("a key field that only one has", isShared: false, first: tenants("1")),
        Row("another value of a key field", isShared: false, first: tenants("1"), second: tenants("2")),
        Row(
            "the value in another key field",
            isShared: false,
            first: tenants("1"),
            second: Row.request(fields: "X-Region: 1")
        ),
        Row(
            "an empty value in another key field",
            isShared: false,
            first: tenants(""),
            second: Row.request(fields: "X-Region:")
        ),
        Row("key fields that look alike", isShared: false, first: tenants("1", "2"), second: tenants("12")),
        Row("a key field in two lines", isShared: false, first: tenants("1", "2"), second: tenants("1, 2")),
        Row("another grant", isShared: false) { $0.install(.sample(2, grant: GrantID("grant-2"))) },
        Row("more scopes", isShared: false) { $0.install(.sample(2, scopes: ["admin"])) },
        Row("a reload that changes the route", isShared: false) { rig in
            _ = await rig.server.reload(try plan(rig, callersShare: false) { $0.timeouts.idle = .seconds(1) })
        },
        Row("a reload that changes the upstream", isShared: false) { rig in
            _ = await rig.server.reload(try plan(rig, callersShare: false) { $0.upstream.path = "/v3/" })
        },
        Row("a reload after which callers share", isShared: false) { rig in
            _ = await rig.server.reload(try plan(rig, callersShare: true))
        },
    ]

    private static func tenants(_ values: String..., name: String = "X-Tenant") -> String {
        Cached.request(
            "GET",
            "/acme/a",
            ["Martlet-Key: one", "Martlet-Account: alice"] + values.map { "\(name): \($0)" }
        )
    }

    private static func route(
        _ port: Int,
        callersShare: Bool,
        _ change: (inout RouteConfiguration) -> Void = { _ in }
    ) -> RouteConfiguration {
        .sample(port: port) { route in
            route.account = .chosen([.name(Rig.account), .name(Self.bob)])
            route.cache = CacheConfiguration(isSharedByCallers: callersShare, keyFields: ["x-tenant", "x-region"])
            change(&route)
        }
    }

    private static func callers() throws -> [CallerConfiguration] {
        [
            CallerConfiguration(name: "one", keys: [try .of("one")]),
            CallerConfiguration(name: "two", keys: [try .of("two")]),
        ]
    }

    private static func plan(
        _ rig: Rig,
        callersShare: Bool,
        others: Int = 0,
        _ change: (inout RouteConfiguration) -> Void = { _ in }
    ) throws -> ProxyConfiguration {
        var setup = Rig.Setup()
        let route = Self.route(rig.upstream.port, callersShare: callersShare, change)
        let more = (0..<others).map { number in
            RouteConfiguration.sample(port: rig.upstream.port) { other in
                other.name = "other-\(number)"
                other.path = "/other-\(number)/"
                other.cache = CacheConfiguration()
            }
        }
        setup.routes = { _ in more + [route] }
        return ProxyConfiguration(
            listeners: [],
            routes: Rig.routes(setup, rig.upstream.port),
            callers: try Self.callers(),
            eventLoops: 1
        )
    }

    @Test(arguments: sharing + separate)
    func `a stored response serves another request only if nothing tells the two apart`(row: Row) async throws {
        var setup = Rig.Setup(routes: { [Self.route($0, callersShare: row.callersShare)] })
        setup.callers = try Self.callers()
        try await withRig(setup) { rig in
            rig.install(.sample(account: Self.bob))
            let (caller, upstream) = try await rig.stored(for: row.first)
            try await row.between(rig)
            try await rig.settle()
            let serving = upstream.answersAll(with: Cached.second)
            defer { serving.cancel() }

            let (head, body) = try await caller.ask(row.second)

            #expect(head.isHit == row.isShared)
            #expect(body == (row.isShared ? "first" : "second"))
            // What came for the second request does not take the first one's place.
            if !row.isShared { #expect(try await caller.ask(row.second).body == "second") }
        }
    }

    @Test func `a request with another spelling of a key field passes by what is stored`() async throws {
        var setup = Rig.Setup(routes: { [Self.route($0, callersShare: false)] })
        setup.callers = try Self.callers()
        try await withRig(setup) { rig in
            let (caller, upstream) = try await rig.stored(for: Self.tenants("2", name: "X_Tenant"))
            #expect(await rig.storedCount == 0)
            let again = try await caller.ask(
                Self.tenants("2", name: "X_Tenant"),
                answeredBy: Cached.fresh,
                from: upstream
            )
            #expect(again.head.cacheStatus == "martlet; fwd=bypass; fwd-status=200")
        }
    }

    @Test func `responses of a configuration that was replaced are freed`() async throws {
        var setup = Rig.Setup(routes: { [Self.route($0, callersShare: false)] })
        setup.callers = try Self.callers()
        try await withRig(setup) { rig in
            _ = try await rig.stored(for: Row.request())
            #expect(await rig.storedCount == 1)
            _ = await rig.server.reload(try Self.plan(rig, callersShare: true))
            try await eventually("nothing to be stored") {
                await rig.server.cacheStatus().first.map { $0.entries == 0 && $0.bytes == 0 } == true
            }
        }
    }
}
