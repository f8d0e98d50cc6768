import NIOCore
import Proxy
import SystemSupport
import Testing

@Suite struct AddressLimitTests {
    private func address(_ text: String) throws -> PeerNetwork? {
        PeerNetwork(try SocketAddress(ipAddress: text, port: 1))
    }

    @Test func `each address has its own places, and an address without connections is forgotten`() throws {
        let limit = AddressLimit(2)
        let one = try #require(try self.address("192.0.2.1"))
        let other = try #require(try self.address("192.0.2.2"))
        #expect([limit.enter(one), limit.enter(one), limit.enter(one)] == [true, true, false])
        #expect(limit.enter(other))
        limit.leave(one)
        #expect([limit.enter(one), limit.enter(one)] == [true, false])
        for address in [one, one, other] { limit.leave(address) }
        #expect(limit.count == 0)
    }

    @Test func `a limit of zero is no limit`() {
        #expect(!AddressLimit(0).isSet)
    }

    @Test func `a changed limit applies to new connections`() throws {
        let limit = AddressLimit(2)
        let one = try #require(try self.address("192.0.2.1"))
        #expect([limit.enter(one), limit.enter(one)] == [true, true])
        limit.limit = 1
        limit.leave(one)
        #expect(!limit.enter(one))
        limit.limit = 3
        #expect([limit.enter(one), limit.enter(one), limit.enter(one)] == [true, true, false])
        // A connection that passed the check for a limit before the change still enters.
        limit.limit = 0
        #expect(limit.enter(one))
    }
}
