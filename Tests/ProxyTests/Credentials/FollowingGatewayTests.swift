import HTTPWire
import NIOCore
import Proxy
import Testing
import TokenModel

/// A gateway across reloads of its configuration.
@Suite struct FollowingGatewayTests {
    private static let bob = AccountID("bob")
    private let old = RouteTable([.sample(port: 1)])

    /// The request head that may leave by the only route named `name`; `nil` when the gateway authorizes none.
    private func authorized(_ gateway: Gateway, _ table: RouteTable, _ name: String = "acme") throws -> String? {
        let route = try #require(table.routes.first { $0.plan.name == name })
        let bytes = ByteBuffer(string: "GET / HTTP/1.1\r\n")
        guard let head = gateway.authorize(bytes, route) else { return nil }
        return String(buffer: head.open())
    }

    private func book(_ credentials: UpstreamCredential...) -> CredentialTable {
        var book = CredentialTable()
        for credential in credentials { book.apply(.installed(credential)) }
        return book
    }

    private func follow(_ gateway: Gateway, _ table: RouteTable, _ credentials: CredentialTable) {
        gateway.reload(table, callers: CallerTable(nil, routes: table), credentials: credentials)
    }

    @Test func `a credential announced before its account had a route is available once the route exists`() throws {
        let gateway = Gateway(self.old)
        let credential = UpstreamCredential.sample(4, account: Self.bob)
        gateway.apply(.installed(credential))
        let table = RouteTable([.sample(port: 1) { $0.account = .fixed(Self.bob) }], following: self.old)
        self.follow(gateway, table, self.book(credential))
        #expect(try self.authorized(gateway, table)?.contains("Bearer token-4") == true)
    }

    @Test func `a reload adds the lines of new injections to an installed credential`() throws {
        let gateway = Gateway(self.old)
        gateway.apply(.installed(.sample()))
        let table = RouteTable(
            [
                .sample(port: 1),
                .sample(port: 1) { plan in
                    plan.name = "keyed"
                    plan.path = "/keyed/"
                    plan.injection = Injection(header: "X-Key", prefix: "")
                },
            ],
            following: self.old
        )
        self.follow(gateway, table, self.book(.sample()))
        #expect(try self.authorized(gateway, table)?.contains("\r\nAuthorization: Bearer token-1\r\n") == true)
        #expect(try self.authorized(gateway, table, "keyed")?.contains("\r\nX-Key: token-1\r\n") == true)
    }

    @Test func `a slot without a route keeps its credential for requests in progress, and then loses it`() throws {
        let gateway = Gateway(self.old)
        gateway.apply(.installed(.sample()))
        self.follow(gateway, RouteTable([], following: self.old), self.book(.sample()))
        gateway.apply(.retired(Rig.account))
        gateway.clearUnused { SlotUsers(senders: [0]) }
        #expect(try self.authorized(gateway, self.old) != nil)
        gateway.clearUnused { SlotUsers() }
        #expect(try self.authorized(gateway, self.old) == nil)
        #expect(gateway.slots[0].credential == nil)
    }

    @Test func `an account that was removed and added again does not find its old credential`() throws {
        let gateway = Gateway(self.old)
        gateway.apply(.installed(.sample()))
        let without = RouteTable([], following: self.old)
        self.follow(gateway, without, CredentialTable())
        let again = RouteTable([.sample(port: 1)], following: without)
        self.follow(gateway, again, CredentialTable())
        #expect(try self.authorized(gateway, again) == nil)
    }

    @Test func `a caller's permitted routes follow the new route table`() throws {
        let key = try KeyDigest.of("key")
        func callers(_ table: RouteTable, may route: String) -> CallerTable {
            CallerTable([CallerConfiguration(name: "c", keys: [key], routes: [route])], routes: table)
        }
        let request = try RequestHead.parsed("GET /acme/ HTTP/1.1\r\nHost: a\r\nMartlet-Key: key\r\n\r\n")
        let gateway = Gateway(self.old, callers: callers(self.old, may: "acme"))
        var unverified = UnverifiedCaller(isOnUnixSocket: false)
        guard case .wait = gateway.decide(request, from: &unverified) else {
            Issue.record("it may not use its route")
            return
        }
        // When a reload adds a route that is tried before the caller's own
        let table = RouteTable(
            [
                .sample(port: 1),
                .sample(port: 1) { plan in
                    plan.name = "deep"
                    plan.path = "/acme/deep/"
                },
            ],
            following: self.old
        )
        gateway.reload(table, callers: callers(table, may: "deep"), credentials: CredentialTable())
        guard case .reply(let error) = gateway.decide(request, from: &unverified) else {
            Issue.record("it may still use the route")
            return
        }
        #expect(error.code == .callerForbidden)
    }
}

@Suite struct CredentialTableTests {
    @Test func `the table holds the latest credential of each configured account`() {
        var book = CredentialTable()
        book.apply(.installed(.sample(1)))
        book.apply(.installed(.sample(2)))
        #expect(book[Rig.account]?.generation == Generation(2))
        book.apply(.retired(Rig.account))
        #expect(book[Rig.account] == nil)
        book.apply(.installed(.sample(3)))
        book.apply(.dropped(Rig.account))
        #expect(book[Rig.account] == nil)
    }
}
