import HTTPWire
import Listening
import Proxy
import Testing
import TokenModel

/// Which route a request goes by that names its account itself.
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

    /// - Parameter callers: who may; `nil` for anyone.
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
    func `what is nobody's name is refused`(name: String) {
        #expect(throws: GatewayError(.callerForbidden, "")) { try self.match("Martlet-Account: \(name)\r\n") }
    }

    @Test func `a field that is missing is refused, and the caller is told which`() {
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

    @Test func `a caller that may not use the route may name nothing on it`() {
        let callers = [CallerConfiguration(name: "me", peer: PeerRule(user: 1), routes: ["fixed"])]
        #expect(throws: GatewayError(.callerForbidden, "")) {
            try self.match("Martlet-Account: a\r\n", callers: callers)
        }
    }

    @Test func `where nobody is known nobody may choose`() {
        #expect(throws: GatewayError(.callerForbidden, "")) {
            try self.match("Martlet-Account: a\r\n", callers: nil)
        }
    }

    @Test func `on a route with an account of its own the name counts for nothing`() throws {
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

    @Test func `all that may be chosen on a route is counted as that route`() throws {
        let numbers = try Self.names.map { try self.match("Martlet-Account: \($0)\r\n").route.number }
        #expect(Set(numbers).count == 1)
        #expect(self.table.names == ["acme", "fixed"])
    }

    @Test func `where there is nothing to choose there is no route`() {
        #expect(throws: GatewayError(.noRoute, "")) { try self.match("Martlet-Account: a\r\n", at: "/nothing/x") }
    }

    @Test func `an account that is not to be chosen any more leaves its slot unused, and others keep theirs`() throws {
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
