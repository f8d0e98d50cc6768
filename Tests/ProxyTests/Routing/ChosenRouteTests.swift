import HTTPWire
import Proxy
import SystemSupport
import Testing
import TokenModel

/// The choice of an account for a request that names it.
@Suite struct ChosenRouteTests {
    private static let names = ["b", "a", "ab", "B", "z-9", "a.b", "aa"]
    private static let me = CallerConfiguration(name: "me", peer: PeerRule(user: 1))

    private let table = RouteTable([
        .sample(port: 1) { $0.account = .chosen(Self.names.map { .name(AccountID($0)) }) },
        .sample(port: 1) { plan in
            plan.name = "fixed"
            plan.path = "/fixed/"
            plan.account = .fixed(AccountID("ab"))
        },
        .sample(port: 1) { plan in
            plan.name = "other"
            plan.path = "/other/"
            plan.account = .fixed(AccountID("elsewhere"))
        },
        .sample(port: 1) { plan in
            plan.name = "nobody's"
            plan.path = "/nothing/"
            plan.account = .chosen([])
        },
    ])

    /// The name of the account whose token a request gets.
    ///
    /// - Parameter callers: the configured callers; `nil` admits anyone.
    private func account(
        _ fields: String,
        at path: String = "/acme/x",
        callers: [CallerConfiguration]? = [me]
    ) throws -> String {
        let gateway = Gateway(self.table, callers: CallerTable(callers, routes: self.table))
        return gateway.slots[try gateway.match(fields, at: path).slot].account.rawValue
    }

    @Test(arguments: names)
    func `each account is found by its name`(name: String) throws {
        let gateway = Gateway(self.table, callers: CallerTable([Self.me], routes: self.table))
        let match = try gateway.match("Martlet-Account: \(name)\r\n", at: "/acme/x")
        #expect(gateway.slots[match.slot].account == AccountID(name))
        #expect(self.table.slots[match.slot].account == AccountID(name))
        #expect(match.route.plan.name == "acme")
        #expect(match.prefix == 6)
    }

    @Test(arguments: ["", "A", "abc", "ac", "a.", "z", "z-", "z-99", "zz", "a,b", "a b", "0", "~", "elsewhere"])
    func `a name of no account that the route offers is refused`(name: String) {
        #expect(throws: GatewayError(.callerForbidden, "")) { try self.account("Martlet-Account: \(name)\r\n") }
    }

    @Test func `a missing field is refused, and the error names the field`() {
        let error = #expect(throws: GatewayError.self) {
            try self.account("X-Martlet-Account: a\r\nMartlet-Accounts: a\r\n")
        }
        #expect(error?.code == .callerForbidden)
        #expect(error.map { "\($0.detail)".contains("Martlet-Account") } == true)
    }

    @Test func `a caller chooses among its own accounts`() throws {
        var me = Self.me
        me.accounts = [.name(AccountID("ab")), .name(AccountID("B"))]
        for name in Self.names {
            let fields = "Martlet-Account: \(name)\r\n"
            if ["ab", "B"].contains(name) {
                #expect(try self.account(fields, callers: [me]) == name)
            } else {
                #expect(throws: GatewayError(.callerForbidden, "")) { try self.account(fields, callers: [me]) }
            }
        }
    }

    @Test func `a caller's pattern covers accounts that are configured by name`() throws {
        var me = Self.me
        me.accounts = [.family(try #require(AccountFamily(pattern: "a*")))]
        for name in Self.names {
            let account = try? self.account("Martlet-Account: \(name)\r\n", callers: [me])
            #expect((account != nil) == ["ab", "a.b", "aa"].contains(name))
        }
    }

    @Test func `a caller that may not use the route may choose no account on it`() {
        var me = Self.me
        me.routes = ["fixed"]
        #expect(throws: GatewayError(.callerForbidden, "")) {
            try self.account("Martlet-Account: a\r\n", callers: [me])
        }
    }

    @Test func `without callers nobody may choose an account`() {
        #expect(throws: GatewayError(.callerForbidden, "")) {
            try self.account("Martlet-Account: a\r\n", callers: nil)
        }
    }

    @Test func `on a route with a fixed account the field is ignored`() throws {
        for fields in ["", "Martlet-Account: b\r\n", "Martlet-Account: nobody\r\n"] {
            #expect(try self.account(fields, at: "/fixed/x") == "ab")
        }
    }

    @Test func `an account has one slot, whether it is chosen or fixed`() throws {
        let gateway = Gateway(self.table, callers: CallerTable([Self.me], routes: self.table))
        let chosen = try gateway.match("Martlet-Account: ab\r\n", at: "/acme/x")
        let fixed = try gateway.match("", at: "/fixed/x")
        #expect(chosen.slot == fixed.slot)
        #expect(chosen.route.number != fixed.route.number)
        #expect(Set(self.table.slots.map(\.account)).count == Self.names.count + 1)
        #expect(self.table.unusedSlots.isEmpty)
    }

    @Test func `a route without accounts to choose from does not exist`() {
        #expect(self.table.names == ["acme", "fixed", "other"])
        #expect(throws: GatewayError(.noRoute, "")) { try self.account("Martlet-Account: a\r\n", at: "/nothing/x") }
    }

    @Test func `an account that can no longer be chosen leaves its slot unused, and the others keep theirs`() throws {
        let next = RouteTable(
            [.sample(port: 1) { $0.account = .chosen(["new", "b"].map { .name(AccountID($0)) }) }],
            following: self.table
        )
        #expect(next.slots.dropLast().map(\.account) == self.table.slots.map(\.account))
        #expect(next.slots.last?.account == AccountID("new"))
        let unused = next.unusedSlots.map { next.slots[$0].account.rawValue }
        #expect(unused == ["a", "ab", "B", "z-9", "a.b", "aa", "elsewhere"])
    }

    @Test func `an account that leaves the configuration for a family keeps its slot`() throws {
        let family = try #require(AccountFamily(pattern: "a*"))
        let next = RouteTable([.sample(port: 1) { $0.account = .chosen([.family(family)]) }], following: self.table)
        #expect(next.unusedSlots.map { next.slots[$0].account.rawValue } == ["b", "a", "B", "z-9", "elsewhere"])
    }
}
