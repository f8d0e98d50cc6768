import Proxy
import Testing
import TokenModel

/// A route table that replaces another.
@Suite struct FollowingTableTests {
    private static let bob = AccountID("bob")

    private func plan(_ name: String, _ change: (inout RouteConfiguration) -> Void = { _ in }) -> RouteConfiguration {
        .sample(port: 1) { plan in
            plan.name = name
            plan.path = "/\(name)/"
            change(&plan)
        }
    }

    private func route(_ name: String, of table: RouteTable) throws -> Route {
        try #require(table.routes.first { $0.plan.name == name })
    }

    @Test func `what stays keeps its place, whatever comes before it in the configuration`() throws {
        let old = RouteTable([self.plan("a"), self.plan("b") { $0.account = .fixed(Self.bob) }])
        let new = RouteTable(
            [
                self.plan("c") { $0.account = .fixed(AccountID("carol")) },
                self.plan("b") { $0.account = .fixed(Self.bob) }, self.plan("a"),
            ],
            following: old
        )
        for name in ["a", "b"] {
            let (before, after) = (try self.route(name, of: old), try self.route(name, of: new))
            #expect(before.slot == after.slot)
            #expect(before.pool == after.pool)
            #expect(before.line == after.line)
            #expect(before.number == after.number)
        }
        #expect(try self.route("c", of: new).slot == 2)
        #expect(try self.route("c", of: new).number == 3)
        #expect(new.names == ["a", "b", "c"])
        #expect(new.unusedSlots.isEmpty)
    }

    @Test func `what is removed leaves its place empty, and finds it again when it returns`() throws {
        let old = RouteTable([self.plan("a"), self.plan("b") { $0.account = .fixed(Self.bob) }])
        let without = RouteTable([self.plan("a")], following: old)
        #expect(without.slots.map(\.account) == [Rig.account, Self.bob])
        #expect(without.unusedSlots == [1])
        #expect(without.names == ["a", "b"])

        let again = RouteTable([self.plan("b") { $0.account = .fixed(Self.bob) }], following: without)
        #expect(try self.route("b", of: again).slot == 1)
        #expect(try self.route("b", of: again).number == 2)
        #expect(again.unusedSlots == [0])
    }

    @Test func `a new injection gets a line after the existing ones`() throws {
        let old = RouteTable([self.plan("a")])
        let key = Injection(header: "X-Key", prefix: "")
        let new = RouteTable([self.plan("b") { $0.injection = key }, self.plan("a")], following: old)
        #expect(try self.route("a", of: new).line == 0)
        #expect(try self.route("b", of: new).line == 1)
        #expect(new.injections == [Injection(), key])
    }

    @Test func `other connection settings for an upstream make another pool`() throws {
        let old = RouteTable([self.plan("a")])
        let new = RouteTable([self.plan("a") { $0.maxConnections = 7 }], following: old)
        #expect(try self.route("a", of: new).pool == 1)
    }
}
