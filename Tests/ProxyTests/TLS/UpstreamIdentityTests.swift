import Proxy
import TestKit
import Testing

/// The trust in an upstream and the identity that the gateway shows belong to a connection. A route with other settings
/// may not use it.
@Suite struct UpstreamIdentityTests {
    private let files: TLSFiles

    init() throws { self.files = try TLSFiles() }

    private func trusting(_ name: String = "server.pem", showing pair: String? = nil) throws -> UpstreamTLS {
        try UpstreamTLS(
            .init(certificateAuthorities: self.files.path(name), identity: pair.map { try self.files.pair($0) })
        )
    }

    /// Two routes to one upstream over TLS, `/one/` and `/two/`.
    private func setup(_ one: UpstreamTLS, _ two: UpstreamTLS, clientAuthority: String? = nil) -> Rig.Setup {
        var setup = Rig.Setup()
        setup.speaksTLS = true
        setup.clientAuthority = clientAuthority
        setup.routes = { port in
            [("one", one), ("two", two)].map { name, tls in
                .sample(port: port) { plan in
                    plan.name = name
                    plan.path = "/\(name)/"
                    plan.upstream.tls = tls
                }
            }
        }
        return setup
    }

    /// Sends a request by a route, over `open` or a new connection, and returns the connection that it took.
    private func request(_ name: String, of caller: Peer, _ rig: Rig, over open: Peer? = nil) async throws -> Peer {
        try await caller.send("GET /\(name)/ HTTP/1.1\r\nHost: a\r\n\r\n")
        var upstream = open
        if upstream == nil { upstream = try await rig.upstream.accept() }
        let peer = try #require(upstream)
        _ = try await peer.head()
        try await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(try await caller.answer().head.status == 200)
        return peer
    }

    @Test func `routes that trust the same file share connections`() async throws {
        try await withRig(self.setup(self.trusting(), self.trusting())) { rig in
            let caller = try await rig.caller()
            let upstream = try await self.request("one", of: caller, rig)
            _ = try await self.request("two", of: caller, rig, over: upstream)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `a route that trusts another authority gets no connection of this route`() async throws {
        try await withRig(self.setup(self.trusting(), self.trusting("other-ca.pem"))) { rig in
            let caller = try await rig.caller()
            _ = try await self.request("one", of: caller, rig)
            try await caller.send("GET /two/ HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await caller.answer().head.status == 502)
            #expect(rig.upstream.connections == 2)
        }
    }

    @Test func `the gateway shows its certificate only on connections of a route that says so`() async throws {
        let showing = try self.trusting(showing: "client")
        let setup = self.setup(showing, try self.trusting(), clientAuthority: TestCertificates.clientAuthority)
        try await withRig(setup) { rig in
            let caller = try await rig.caller()
            let upstream = try await self.request("one", of: caller, rig)
            _ = try await self.request("one", of: caller, rig, over: upstream)
            try await caller.send("GET /two/ HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await caller.answer().head.status == 502)
        }
    }

    @Test func `two identities make two pools, even if the upstream accepts both`() async throws {
        let both = try self.setup(self.trusting(showing: "client"), self.trusting(showing: "server"))
        try await withRig(both) { rig in
            let caller = try await rig.caller()
            _ = try await self.request("one", of: caller, rig)
            _ = try await self.request("two", of: caller, rig)
            #expect(rig.upstream.connections == 2)
        }
    }
}
