internal import NIOCore
internal import SystemSupport
internal import Testing

@Suite struct PeerNetworkTests {
    private func address(_ text: String) throws -> PeerNetwork? {
        PeerNetwork(try SocketAddress(ipAddress: text, port: 1))
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
        ("2001:db8::1", "2001:db8::ffff:1", true), ("2001:db8::1", "2001:db8:0:1::1", false),
        ("::ffff:192.0.2.1", "192.0.2.1", true), ("::ffff:192.0.2.1", "::ffff:192.0.2.2", false),
        ("::1", "0.0.0.0", false),
    ])
    func `a peer is an IPv4 address or the first half of an IPv6 address`(one: String, other: String, isSame: Bool)
        throws
    {
        let (first, second) = (try self.address(one), try self.address(other))
        #expect((first == second) == isSame)
    }

    @Test func `a Unix socket has no peer network`() throws {
        #expect(PeerNetwork(try SocketAddress(unixDomainSocketPath: "/x")) == nil)
    }
}
