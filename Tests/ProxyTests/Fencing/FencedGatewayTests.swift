import HTTPWire
import NIOCore
import Proxy
import Testing
import TokenModel

/// The gateway's tables after a kill.
@Suite struct FencedGatewayTests {
    private static let acme = ProviderID("acme")
    private static let bob = AccountID("bob")
    private let table = RouteTable([
        .sample(port: 1),
        .sample(port: 1) { plan in
            plan.name = "bob"
            plan.path = "/bob/"
            plan.account = .fixed(FencedGatewayTests.bob)
        },
    ])

    private func gateway(_ credentials: UpstreamCredential...) -> Gateway {
        let gateway = Gateway(self.table)
        for credential in credentials { gateway.apply(.installed(credential)) }
        return gateway
    }

    private func mayLeave(_ gateway: Gateway, _ name: String = "acme") -> Bool {
        guard let route = self.table.routes.first(where: { $0.plan.name == name }) else { return false }
        let bytes = ByteBuffer(string: "GET / HTTP/1.1\r\n")
        guard let head = gateway.authorize(bytes, route) else { return false }
        return String(buffer: head.open()).contains("Authorization: Bearer token-")
    }

    @Test(arguments: [.all, .provider(FencedGatewayTests.acme), .account(Rig.account)] as [KillScope], [true, false])
    func `I3_ a kill removes the credentials of its scope, and no older one comes back`(
        scope: KillScope,
        holds: Bool
    ) throws {
        let gateway = self.gateway(.sample())
        #expect(self.mayLeave(gateway))
        gateway.fence(.kill(scope, holds: holds))
        #expect(!self.mayLeave(gateway))
        gateway.apply(.installed(.sample(2)))
        #expect(!self.mayLeave(gateway))
        gateway.apply(.installed(.sample(3, observedEpoch: Epoch(1))))
        #expect(self.mayLeave(gateway) == !holds)
    }

    @Test(
        arguments: [.provider(ProviderID("other")), .account(AccountID("carol")), .account(Rig.account)] as [KillScope]
    )
    func `a kill leaves the credentials outside its scope`(scope: KillScope) {
        let gateway = self.gateway(.sample(), .sample(2, account: Self.bob))
        gateway.fence(.kill(scope))
        #expect(self.mayLeave(gateway, "bob"))
        #expect(self.mayLeave(gateway) == (scope != .account(Rig.account)))
    }

    @Test func `I3_ a kill of a provider removes the credentials of tokens that were bound to it before`() throws {
        let before = ProviderID("before")
        let gateway = self.gateway(.sample(formerProviders: [before]), .sample(2, account: Self.bob))
        let route = try #require(self.table.routes.first { $0.plan.name == "acme" })
        let bytes = ByteBuffer(string: "GET / HTTP/1.1\r\n")
        guard let head = gateway.authorize(bytes, route) else {
            Issue.record("a live pass, and nothing may leave")
            return
        }
        let origin = head.origin
        gateway.fence(.kill(.provider(before)))
        #expect(!self.mayLeave(gateway))
        #expect(!gateway.isLive(origin, slot: 0))
        #expect(self.mayLeave(gateway, "bob"))
        gateway.apply(.installed(.sample(3, formerProviders: [before])))
        #expect(!self.mayLeave(gateway))
    }

    @Test func `an older kill log does not undo a newer one`() {
        let gateway = self.gateway()
        gateway.fence(.kill(at: 2, holds: false))
        gateway.fence(.kill(at: 1, holds: true))
        gateway.apply(.installed(.sample(observedEpoch: Epoch(1))))
        #expect(!self.mayLeave(gateway))
        gateway.apply(.installed(.sample(observedEpoch: Epoch(2))))
        #expect(self.mayLeave(gateway))
    }

    @Test func `a dead credential that arrives late does not replace the live one`() {
        let gateway = self.gateway()
        gateway.fence(.kill(holds: false))
        gateway.apply(.installed(.sample(3, observedEpoch: Epoch(1))))
        gateway.apply(.installed(.sample(2)))
        #expect(self.mayLeave(gateway))
        #expect(gateway.slots[0].credential?.generation == Generation(3))
    }

    @Test func `the token of a head is judged by the provider that it came from`() throws {
        let gateway = self.gateway(.sample())
        let route = try #require(self.table.routes.first { $0.plan.name == "acme" })
        let bytes = ByteBuffer()
        let first = gateway.authorize(bytes, route)?.origin
        // When the account moves to another provider
        gateway.apply(.installed(.sample(2, provider: ProviderID("other"))))
        let later = ByteBuffer()
        let second = gateway.authorize(later, route)?.origin
        let (origin, newer) = (try #require(first), try #require(second))
        gateway.fence(.kill(.provider(Self.acme)))
        #expect(!gateway.isLive(origin, slot: 0))
        #expect(gateway.isLive(newer, slot: 0))
        #expect(self.mayLeave(gateway))
    }

    @Test func `a reload does not bring back a dead credential`() {
        let gateway = self.gateway()
        gateway.fence(.kill(holds: false))
        var book = CredentialTable()
        book.apply(.installed(.sample()))
        book.apply(.installed(.sample(2, account: Self.bob, observedEpoch: Epoch(1))))
        gateway.reload(self.table, callers: CallerTable(nil, routes: self.table), credentials: book)
        #expect(!self.mayLeave(gateway))
        #expect(self.mayLeave(gateway, "bob"))
    }

    @Test(
        arguments: [
            (.all, nil, true), (.account(Rig.account), nil, true), (.account(FencedGatewayTests.bob), nil, false),
            (.provider(FencedGatewayTests.acme), nil, false),
            (.provider(FencedGatewayTests.acme), ProviderID("acme"), true),
            (.provider(FencedGatewayTests.acme), ProviderID("other"), false),
        ] as [(KillScope, ProviderID?, Bool)]
    )
    func `whether a kill applies to an account without a credential is told by its provider, if that is known`(
        scope: KillScope,
        provider: ProviderID?,
        isKilled: Bool
    ) throws {
        let gateway = self.gateway()
        gateway.fence(.kill(scope))
        #expect(gateway.isKilled(slot: 0, at: provider) == isKilled)
    }

    @Test func `an account that had a credential is judged by the provider of that credential`() {
        let gateway = self.gateway(.sample())
        gateway.fence(.kill(.provider(Self.acme)))
        #expect(gateway.isKilled(slot: 0, at: nil))
        #expect(!gateway.isKilled(slot: 1, at: nil))
    }

    @Test func `I6_ no token leaves after the end of the lease`() {
        let gateway = self.gateway(.sample())
        gateway.leaseEnd = .now
        #expect(!self.mayLeave(gateway))
        #expect(gateway.usableCredential(slot: 0) == nil)
        #expect(gateway.refusal(of: .sample())?.code == .storeLost)
        gateway.leaseEnd = .now.advanced(by: .seconds(60))
        #expect(self.mayLeave(gateway))
        #expect(gateway.usableCredential(slot: 0)?.generation == Generation(1))
        #expect(gateway.refusal(of: .sample()) == nil)
    }
}

@Suite struct FencedCredentialTableTests {
    @Test func `dead credentials are neither kept nor accepted`() {
        var book = CredentialTable()
        book.apply(.installed(.sample()))
        book.fence(.kill(holds: false))
        #expect(book[Rig.account] == nil)
        book.apply(.installed(.sample(2)))
        #expect(book[Rig.account] == nil)
        book.apply(.installed(.sample(3, observedEpoch: Epoch(1))))
        book.fence(KillEpochs())
        #expect(book[Rig.account]?.generation == Generation(3))
        #expect(book.epochs.last == Epoch(1))
    }
}
