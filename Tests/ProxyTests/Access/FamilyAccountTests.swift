import NIOCore
import Proxy
import Telemetry
import TestKit
import Testing
import TokenModel

/// Requests that name an account of a family, sent over real sockets.
@Suite struct FamilyAccountTests {
    /// - Parameter accounts: of the only caller; `nil` for all.
    private static func callers(_ accounts: [AccountPattern]? = nil) throws -> [CallerConfiguration] {
        [CallerConfiguration(name: "app", keys: [try .of("k")], accounts: accounts)]
    }

    private static func route(_ port: Int, _ accounts: [AccountPattern] = Families.customers) -> RouteConfiguration {
        .sample(port: port) { $0.account = .chosen(accounts) }
    }

    private func setup(_ change: (inout Rig.Setup) -> Void = { _ in }) throws -> Rig.Setup {
        var setup = Rig.Setup(credential: nil, routes: { [Self.route($0)] })
        setup.callers = try Self.callers()
        change(&setup)
        return setup
    }

    private static func fields(_ account: AccountID = Families.first) -> String {
        "Martlet-Key: k\r\n" + Families.field(account)
    }

    private func request(_ account: AccountID = Families.first) -> String {
        "GET /acme/x HTTP/1.1\r\nHost: a\r\n\(Self.fields(account))\r\n"
    }

    private func reload(
        _ rig: Rig,
        to accounts: [AccountPattern] = Families.customers,
        for caller: [AccountPattern]? = nil
    ) async throws {
        _ = await rig.server.reload(
            ProxyConfiguration(
                listeners: [],
                routes: [Self.route(rig.upstream.port, accounts)],
                callers: try Self.callers(caller),
                eventLoops: 1
            )
        )
    }

    /// Has no credential for anybody.
    private static func refuseAll(_ rig: Rig) -> Task<Void, any Error> {
        Task {
            while true {
                let question = try await rig.credentials.questions.next("question")
                question.answer(.failure(CredentialError(.accountEmpty, "none")))
            }
        }
    }

    @Test(arguments: [1, 2])
    func `a token that came before the first request goes with it, on every event loop`(eventLoops: Int) async throws {
        try await withRig(self.setup { $0.eventLoops = eventLoops }) { rig in
            rig.credentials.add(Families.first)
            rig.install(.sample(7, account: Families.first))
            for _ in 1...4 {
                let caller = try await rig.caller()
                try await caller.send(self.request())
                let end = try await rig.upstream.accept()
                let head = try await end.head()
                #expect(head["Authorization"] == "Bearer token-7")
                #expect(head["Martlet-Account"] == nil)
                try await end.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
                #expect(try await caller.head().status == 204)
            }
            #expect(rig.credentials.asked == 0)
        }
    }

    @Test func `the first request of a dormant account waits for its token`() async throws {
        try await withRig(self.setup()) { rig in
            rig.credentials.add(Families.first)
            let caller = try await rig.caller()
            try await caller.send(self.request())
            let question = try await rig.credentials.questions.next("question")
            #expect(question.account == Families.first)
            let credential = UpstreamCredential.sample(3, account: Families.first)
            rig.install(credential)
            question.answer(.success(credential))
            #expect(try await rig.upstream.accept().head()["Authorization"] == "Bearer token-3")
        }
    }

    @Test func `an account that does not exist gets account_empty, and no credential is asked for`() async throws {
        try await withRig(self.setup()) { rig in
            let caller = try await rig.caller()
            for number in 1...200 {
                try await caller.send(self.request(AccountID("customer-\(number)")))
                let (head, body) = try await caller.answer()
                #expect(head.status == 503)
                #expect(body.contains("urn:martlet:error:account_empty") && body.contains("customer-\(number)"))
            }
            #expect(rig.credentials.asked == 0 && rig.upstream.connections == 0)
            // They are counted as the route's, and nothing more.
            let traffic = await rig.server.traffic()
            #expect(traffic.routes[1][.serverError] == 200)
            // Once it is imported, the same connection may use it.
            rig.credentials.add(Families.first)
            rig.install(.sample(7, account: Families.first))
            try await caller.send(self.request())
            #expect(try await rig.upstream.accept().head()["Authorization"] == "Bearer token-7")
        }
    }

    @Test func `a response goes on when its account is let go, and the next request asks anew`() async throws {
        try await withRig(self.setup()) { rig in
            rig.credentials.add(Families.first)
            rig.install(.sample(7, account: Families.first))
            let (caller, upstream) = try await rig.begun(self.request())
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\non")
            rig.credentials.hold(nil, for: Families.first)
            rig.server.apply(.retired(Families.first))
            try await rig.settle()
            try await upstream.send("ce")
            #expect(try await caller.answer().body == "once")

            // The token does not live on in the slot.
            let (serving, refusing) = (upstream.answersAll(with: Cached.fresh), Self.refuseAll(rig))
            defer {
                serving.cancel()
                refusing.cancel()
            }
            try await eventually("the slot to be gone") { try await caller.ask(self.request()).head.status == 503 }
        }
    }

    @Test(arguments: KillStreams.allCases)
    func `I3_ a kill reaches the tunnel of an account that was let go`(streams: KillStreams) async throws {
        try await withRig(self.setup()) { rig in
            rig.credentials.add(Families.first)
            rig.install(.sample(7, account: Families.first))
            let (caller, upstream) = try await rig.begun(Handshake.request("", Self.fields()))
            try await upstream.send(Handshake.accepted)
            #expect(try await caller.head().status == 101)
            rig.server.apply(.retired(Families.first))
            try await rig.settle()

            let fenced = await rig.server.fence(.kill(.provider(ProviderID("acme")), streams: streams))

            #expect(fenced == (streams == .abort ? FencedExchanges(closed: 1) : FencedExchanges(draining: 1)))
            if streams == .abort {
                #expect(try await caller.ending() == .reset)
                #expect(try await upstream.ending() == .reset)
            } else {
                try await caller.send("ping")
                #expect(String(buffer: try await upstream.bytes(4)) == "ping")
            }
        }
    }

    @Test(
        arguments: [
            (.all, true), (.account(Families.first), true), (.account(Families.second), false),
            (.provider(ProviderID("acme")), true), (.provider(ProviderID("other")), false),
        ] as [(KillScope, Bool)]
    )
    func `I3_ a request that waits for an account of a family is told of a kill`(
        scope: KillScope,
        isTold: Bool
    ) async throws {
        let customers = try #require(AccountFamily(pattern: "customer-*"))
        try await withRig(self.setup()) { rig in
            rig.credentials.add(Families.first)
            let caller = try await rig.caller()
            try await caller.send(self.request())
            let question = try await rig.credentials.questions.next("question")

            _ = await rig.server.fence(
                .kill(scope),
                providers: AccountMap(families: [(customers, ProviderID("acme"))])
            )

            #expect(rig.server.waiterCount == (isTold ? 0 : 1))
            if isTold {
                #expect(try await caller.answer().body.contains("urn:martlet:error:killed"))
            } else {
                question.answer(.failure(CredentialError(.refreshFailed, "no")))
                #expect(try await caller.answer().body.contains("urn:martlet:error:refresh_failed"))
            }
        }
    }

    /// What a reload leaves of the family and of the caller's accounts, and whether the caller may still use the account.
    struct Remains: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var accounts = ["customer-*"]
        var caller: [String]?
        var stays = false
    }

    static let remains = [
        Remains(testDescription: "all", stays: true),
        Remains(testDescription: "a wider family", accounts: ["cust*"], stays: true),
        Remains(testDescription: "the name", accounts: ["customer-1"], stays: true),
        Remains(testDescription: "another family", accounts: ["customer-2*"]),
        Remains(testDescription: "another name", accounts: ["alice"]),
        Remains(testDescription: "a caller of the family", caller: ["customer-*"], stays: true),
        Remains(testDescription: "a caller of the account", caller: ["customer-1"], stays: true),
        Remains(testDescription: "a caller of others", caller: ["customer-2*"]),
        Remains(testDescription: "a caller of nothing", caller: []),
    ]

    @Test(arguments: remains)
    func `a tunnel and the next request see what a reload leaves`(_ remains: Remains) async throws {
        try await withRig(self.setup()) { rig in
            rig.credentials.add(Families.first)
            rig.install(.sample(7, account: Families.first))
            let (caller, upstream) = try await rig.begun(Handshake.request("", Self.fields()))
            try await upstream.send(Handshake.accepted)
            #expect(try await caller.head().status == 101)
            let other = try await rig.caller()

            try await self.reload(
                rig,
                to: remains.accounts.flatMap { Families.patterns($0) },
                for: remains.caller?.flatMap { Families.patterns($0) }
            )

            try await other.send(self.request())
            if remains.stays {
                try await caller.send("still here\r\n")
                #expect(try await upstream.line() == "still here")
                #expect(try await rig.upstream.accept().head()["Authorization"] == "Bearer token-7")
            } else {
                #expect(try await caller.rest().ending == .reset)
                #expect(try await other.answer().head.status == 403)
            }
        }
    }

    @Test func `two accounts of a family share no stored response, and one is purged by its name`() async throws {
        let setup = try self.setup { setup in
            setup.routes = { port in
                [
                    .sample(port: port) { route in
                        route.account = .chosen(Families.customers)
                        route.cache = CacheConfiguration()
                    }
                ]
            }
        }
        try await withRig(setup) { rig in
            rig.credentials.add(Families.first, Families.second)
            rig.install(.sample(7, account: Families.first))
            rig.install(.sample(8, account: Families.second))
            let (caller, upstream) = try await rig.stored(for: self.request())
            #expect(try await caller.ask(self.request()).head.isHit)
            let other = try await caller.ask(self.request(Families.second), answeredBy: Cached.second, from: upstream)
            #expect(!other.head.isHit && other.body == "second")
            #expect(try await caller.ask(self.request(Families.second)).head.isHit)

            #expect(await rig.server.purgeCaches(route: nil, account: Families.second, path: nil).entries == 1)

            #expect(try await caller.ask(self.request()).body == "first")
            let again = try await caller.ask(self.request(Families.second), answeredBy: Cached.fresh, from: upstream)
            #expect(!again.head.isHit)
        }
    }

    @Test func `a locked gateway says so for every name of the family`() async throws {
        try await withRig(self.setup { $0.isLocked = true }) { rig in
            let caller = try await rig.caller()
            try await caller.send(self.request())
            let (head, body) = try await caller.answer()
            #expect(head.status == 503 && body.contains("urn:martlet:error:locked"))
        }
    }
}
