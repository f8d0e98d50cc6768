import HTTPWire
import NIOCore
import Proxy
import Testing
import TokenModel

/// The tables of a locked gateway.
@Suite struct LockedGatewayTests {
    private let table = RouteTable([.sample(port: 1)])

    private func gateway(_ callers: [CallerConfiguration]? = nil) -> Gateway {
        let gateway = Gateway(self.table, callers: CallerTable(callers, routes: self.table))
        gateway.apply(.installed(.sample()))
        return gateway
    }

    private func mayLeave(_ gateway: Gateway) -> Bool {
        let bytes = ByteBuffer(string: "GET / HTTP/1.1\r\n")
        guard let head = gateway.authorize(bytes, self.table.routes[0]) else { return false }
        return String(buffer: head.open()).contains("Authorization: Bearer token-")
    }

    /// How the gateway decides on a request, in a word.
    private func decision(_ gateway: Gateway, _ path: String = "/acme/", key: String = "key") throws -> String {
        let request = try RequestHead.parsed("GET \(path) HTTP/1.1\r\nHost: a\r\nMartlet-Key: \(key)\r\n\r\n")
        var caller = UnverifiedCaller(isOnUnixSocket: true)
        return switch gateway.decide(request, from: &caller) {
        case .forward: "forward"
        case .wait: "wait"
        case .locked: "locked"
        case .options: "options"
        case .reply(let error): error.code.rawValue
        }
    }

    @Test func `no token leaves a locked gateway, whatever it is told meanwhile`() {
        let gateway = self.gateway()
        #expect(self.mayLeave(gateway))
        gateway.lock()
        #expect(!self.mayLeave(gateway))
        #expect(gateway.usableCredential(slot: 0) == nil)
        #expect(gateway.slots[0].credential == nil)
        #expect(gateway.slots[0].cacheOwner == nil)
        // When a credential comes by an event
        gateway.apply(.installed(.sample(2)))
        #expect(!self.mayLeave(gateway))
        // or by a reload
        var credentials = CredentialTable()
        credentials.apply(.installed(.sample(3)))
        gateway.reload(self.table, callers: CallerTable(nil, routes: self.table), credentials: credentials)
        #expect(!self.mayLeave(gateway))
    }

    @Test func `an unlocked gateway has no token until one is announced`() throws {
        let gateway = self.gateway()
        gateway.lock()
        gateway.apply(.installed(.sample(2)))
        gateway.unlock()
        #expect(!self.mayLeave(gateway))
        #expect(try self.decision(gateway) == "wait")
        gateway.apply(.installed(.sample(3)))
        #expect(self.mayLeave(gateway))
        #expect(try self.decision(gateway) == "forward")
    }

    @Test(arguments: [
        ("/acme/", "key", "locked"), ("/acme/", "wrong", "caller_unknown"), ("/other/", "key", "no_route"),
        ("/acme//x", "key", "bad_request"),
    ])
    func `only a known caller of a known route is told of the lock`(
        path: String,
        key: String,
        decision: String
    ) throws {
        let plan = RouteConfiguration.sample(port: 1) { $0.upstream.path = "/" }
        let table = RouteTable([plan])
        let callers = [CallerConfiguration(name: "c", keys: [try KeyDigest.of("key")])]
        let gateway = Gateway(table, callers: CallerTable(callers, routes: table))
        gateway.lock()
        #expect(try self.decision(gateway, path, key: key) == decision)
    }

    @Test func `a kill that comes while the gateway is locked holds afterwards`() {
        let gateway = self.gateway()
        gateway.lock()
        gateway.fence(.kill(holds: false))
        gateway.unlock()
        gateway.apply(.installed(.sample(2)))
        #expect(!self.mayLeave(gateway))
        gateway.apply(.installed(.sample(3, observedEpoch: Epoch(1))))
        #expect(self.mayLeave(gateway))
    }
}

@Suite struct LockedCredentialTableTests {
    @Test func `a locked table is empty and takes nothing, and an unlocked one does again`() {
        var table = CredentialTable()
        table.apply(.installed(.sample()))
        table.fence(.kill(.account(AccountID("another"))))
        table.lock()
        #expect(table[Rig.account] == nil)
        table.apply(.installed(.sample(2)))
        #expect(table[Rig.account] == nil)
        // The kill log is no secret, and never goes back.
        #expect(table.epochs.last == Epoch(1))
        table.unlock()
        #expect(table[Rig.account] == nil)
        table.apply(.installed(.sample(3)))
        #expect(table[Rig.account]?.generation == Generation(3))
    }
}
