import HTTPWire
import Proxy
import SystemSupport
import Testing
import TokenModel

/// The choice of a route for a request that names its account.
@Suite struct ChosenRouteTests {
    private static let names = ["b", "a", "ab", "B", "z-9", "a.b", "aa"]

    private let table = RouteTable([
        .sample(port: 1) { $0.choices = Self.names.map { AccountID($0) } },
        .sample(port: 1) { plan in
            plan.name = "fixed"
            plan.path = "/fixed/"
            plan.account = AccountID("ab")
        },
        .sample(port: 1) { plan in
            plan.name = "nobody's"
            plan.path = "/nothing/"
            plan.choices = []
        },
    ])

    /// - Parameter callers: the configured callers; `nil` admits anyone.
    private func match(
        _ fields: String,
        at path: String = "/acme/x",
        callers: [CallerConfiguration]? = [CallerConfiguration(name: "me", peer: PeerRule(user: 1))]
    ) throws(GatewayError) -> RouteTable.Match {
        guard let request = try? RequestHead.parsed("GET \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n") else {
            throw GatewayError(.badRequest, "not a head")
        }
        var unverified = UnverifiedCaller(isOnUnixSocket: true, peer: PeerIdentity(user: 1, group: 1))
        let caller = try CallerTable(callers, routes: self.table).authenticate(request, &unverified)
        return try self.table.match(request, for: caller)
    }

    @Test(arguments: names)
    func `each account is found by its name`(name: String) throws {
        let match = try self.match("Martlet-Account: \(name)\r\n")
        #expect(match.route.plan.account == AccountID(name))
        #expect(match.route.plan.name == "acme")
        #expect(self.table.slots[match.route.slot].account == AccountID(name))
        #expect(match.prefix == 6)
    }

    @Test(arguments: ["", "A", "abc", "ac", "a.", "z", "z-", "z-99", "zz", "a,b", "a b", "0", "~"])
    func `an unknown account name is refused`(name: String) {
        #expect(throws: GatewayError(.callerForbidden, "")) { try self.match("Martlet-Account: \(name)\r\n") }
    }

    @Test func `a missing field is refused, and the error names the field`() {
        let error = #expect(throws: GatewayError.self) {
            try self.match("X-Martlet-Account: a\r\nMartlet-Accounts: a\r\n")
        }
        #expect(error?.code == .callerForbidden)
        #expect(error.map { "\($0.detail)".contains("Martlet-Account") } == true)
    }

    @Test func `a caller chooses among its own accounts`() throws {
        let callers = [
            CallerConfiguration(name: "me", peer: PeerRule(user: 1), accounts: [AccountID("ab"), AccountID("B")])
        ]
        for name in Self.names {
            let fields = "Martlet-Account: \(name)\r\n"
            if ["ab", "B"].contains(name) {
                #expect(try self.match(fields, callers: callers).route.plan.account == AccountID(name))
            } else {
                #expect(throws: GatewayError(.callerForbidden, "")) { try self.match(fields, callers: callers) }
            }
        }
    }

    @Test func `a caller that may not use the route may choose no account on it`() {
        let callers = [CallerConfiguration(name: "me", peer: PeerRule(user: 1), routes: ["fixed"])]
        #expect(throws: GatewayError(.callerForbidden, "")) {
            try self.match("Martlet-Account: a\r\n", callers: callers)
        }
    }

    @Test func `without callers nobody may choose an account`() {
        #expect(throws: GatewayError(.callerForbidden, "")) {
            try self.match("Martlet-Account: a\r\n", callers: nil)
        }
    }

    @Test func `on a route with a fixed account the field is ignored`() throws {
        for fields in ["", "Martlet-Account: b\r\n", "Martlet-Account: nobody\r\n"] {
            #expect(try self.match(fields, at: "/fixed/x").route.plan.account == AccountID("ab"))
        }
    }

    @Test func `an account has one slot, whether it is chosen or fixed`() throws {
        let chosen = try self.match("Martlet-Account: ab\r\n").route
        let fixed = try self.match("", at: "/fixed/x").route
        #expect(chosen.slot == fixed.slot)
        #expect(chosen.number != fixed.number)
        #expect(Set(self.table.slots.map(\.account)).count == Self.names.count)
        #expect(self.table.unusedSlots.isEmpty)
    }

    @Test func `all accounts of a route are counted as that route`() throws {
        let numbers = try Self.names.map { try self.match("Martlet-Account: \($0)\r\n").route.number }
        #expect(Set(numbers).count == 1)
        #expect(self.table.names == ["acme", "fixed"])
    }

    @Test func `a route without accounts to choose from does not exist`() {
        #expect(throws: GatewayError(.noRoute, "")) { try self.match("Martlet-Account: a\r\n", at: "/nothing/x") }
    }

    @Test func `an account that can no longer be chosen leaves its slot unused, and the others keep theirs`() throws {
        let next = RouteTable(
            [.sample(port: 1) { $0.choices = ["new", "b"].map { AccountID($0) } }],
            following: self.table
        )
        let old = try self.match("Martlet-Account: b\r\n").route
        let route = try #require(next.routes.first { $0.plan.account == AccountID("b") })
        #expect(route.slot == old.slot && route.number == old.number)
        #expect(next.slots.last?.account == AccountID("new"))
        #expect(next.unusedSlots.count == Self.names.count - 1)
    }
}
