import HTTPWire
import NIOCore
import Proxy
import Testing
import TokenModel

/// A gateway with accounts that may be used only while an operator's approval stands.
@Suite struct ApprovedGatewayTests {
    private static let bob = AccountID("bob")
    private static let later = BootInstant.now.advanced(by: .seconds(600))
    private static let routes: [RouteConfiguration] = [
        .sample(port: 1),
        .sample(port: 1) { plan in
            plan.name = "bob"
            plan.path = "/bob/"
            plan.account = .fixed(Self.bob)
        },
    ]
    /// Alice's account requires an approval, and Bob's does not.
    private let table = RouteTable(Self.routes, requiresApproval: { $0 == Rig.account })
    /// The same routes, without approvals.
    private let open = RouteTable(Self.routes)

    private func gateway(_ table: RouteTable? = nil) -> Gateway {
        let gateway = Gateway(table ?? self.table)
        gateway.apply(.installed(.sample()))
        gateway.apply(.installed(.sample(2, account: Self.bob)))
        return gateway
    }

    private func mayLeave(_ gateway: Gateway, _ name: String = "acme") throws -> Bool {
        let route = try #require(self.table.routes.first { $0.plan.name == name })
        let bytes = ByteBuffer(string: "GET / HTTP/1.1\r\n")
        guard let head = gateway.authorize(bytes, route) else { return false }
        return String(buffer: head.open()).contains("Authorization: Bearer token-")
    }

    private func waits(_ gateway: Gateway, _ path: String = "/acme/") throws -> Bool {
        let request = try RequestHead.parsed("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
        var caller = UnverifiedCaller(isOnUnixSocket: true)
        guard case .wait = gateway.decide(request, from: &caller) else { return false }
        return true
    }

    @Test func `no token leaves without an approval, and the request waits`() throws {
        let gateway = self.gateway()
        #expect(try !self.mayLeave(gateway))
        #expect(try self.waits(gateway))
        #expect(gateway.usableCredential(slot: 0) == nil)
        #expect(gateway.refusal(of: .sample())?.code == .approvalRequired)
        // Another account needs none.
        #expect(try self.mayLeave(gateway, "bob"))
        #expect(try !self.waits(gateway, "/bob/"))
        #expect(gateway.refusal(of: .sample(2, account: Self.bob)) == nil)
    }

    @Test func `tokens leave from the approval on to its end, and so do those that come meanwhile`() throws {
        let gateway = self.gateway()
        gateway.apply(.approved(Rig.account, until: Self.later))
        #expect(try self.mayLeave(gateway))
        #expect(try !self.waits(gateway))
        #expect(gateway.usableCredential(slot: 0)?.generation == Generation(1))
        #expect(gateway.refusal(of: .sample()) == nil)
        gateway.apply(.installed(.sample(3)))
        #expect(try self.mayLeave(gateway))
        // When the approval ends between the decision and the write
        gateway.apply(.approved(Rig.account, until: .now))
        #expect(try !self.mayLeave(gateway))
        #expect(gateway.usableCredential(slot: 0) == nil)
        #expect(gateway.obstacle(slot: 0)?.code == .approvalRequired)
        gateway.apply(.installed(.sample(4)))
        #expect(try !self.mayLeave(gateway))
    }

    @Test func `an approval does not prolong a token`() throws {
        let gateway = self.gateway()
        gateway.apply(.installed(.sample(3, usableFor: .zero)))
        gateway.apply(.approved(Rig.account, until: Self.later))
        #expect(try !self.mayLeave(gateway))
        #expect(gateway.obstacle(slot: 0) == nil)
    }

    @Test func `the end of an approval does not concern an account that requires none`() throws {
        let gateway = self.gateway()
        gateway.apply(.approved(Self.bob, until: .distantPast))
        #expect(try self.mayLeave(gateway, "bob"))
    }

    @Test(arguments: [true, false], [true, false])
    func `a reload that begins to require an approval takes the one that stands`(isApproved: Bool, isNew: Bool) throws {
        let gateway = isNew ? Gateway(RouteTable([])) : self.gateway(self.open)
        var credentials = CredentialTable()
        credentials.apply(.installed(.sample()))
        if isApproved { credentials.apply(.approved(Rig.account, until: Self.later)) }
        gateway.reload(self.table, callers: CallerTable(nil, routes: self.table), credentials: credentials)
        #expect(try self.mayLeave(gateway) == isApproved)
        #expect(try self.waits(gateway) == !isApproved)
    }

    @Test func `a reload that requires no approval any more needs none`() throws {
        let gateway = self.gateway()
        var credentials = CredentialTable()
        credentials.apply(.installed(.sample()))
        gateway.reload(self.open, callers: CallerTable(nil, routes: self.open), credentials: credentials)
        #expect(try self.mayLeave(gateway))
    }

    @Test func `a request in progress of an account without a route needs the approval still`() throws {
        let gateway = self.gateway()
        let without = RouteTable([], requiresApproval: { $0 == Rig.account }, following: self.table)
        gateway.reload(without, callers: CallerTable(nil, routes: without), credentials: CredentialTable())
        #expect(try !self.mayLeave(gateway))
    }

    @Test func `a lock forgets approvals`() throws {
        let gateway = self.gateway()
        gateway.apply(.approved(Rig.account, until: Self.later))
        gateway.lock()
        gateway.apply(.approved(Rig.account, until: Self.later))
        gateway.unlock()
        gateway.apply(.installed(.sample()))
        #expect(try !self.mayLeave(gateway))
        gateway.apply(.approved(Rig.account, until: Self.later))
        #expect(try self.mayLeave(gateway))
    }

    @Test func `the table of a locked server forgets approvals too`() throws {
        var credentials = CredentialTable()
        credentials.apply(.approved(Rig.account, until: Self.later))
        credentials.lock()
        credentials.apply(.approved(Rig.account, until: Self.later))
        credentials.unlock()
        credentials.apply(.installed(.sample()))
        let gateway = self.gateway(self.open)
        gateway.reload(self.table, callers: CallerTable(nil, routes: self.table), credentials: credentials)
        #expect(try !self.mayLeave(gateway))
    }
}
