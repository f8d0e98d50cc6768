import NIOSSL
import Proxy
import TestKit
import Testing

@Suite struct CertificateRenewalTests {
    private let files: TLSFiles

    init() throws { self.files = try TLSFiles() }

    /// The configuration after it is read again, with the files of `listener` in place of the listener's old ones.
    private func plan(_ rig: Rig, listener: String, host: String = "127.0.0.1") throws -> ProxyConfiguration {
        let tls = try CallerTLS(self.files.pair(listener))
        return ProxyConfiguration(listeners: [.init(host: host, port: 0, tls: tls)], routes: [], eventLoops: 1)
    }

    /// The configuration after it is read again, with the present content of the trust files.
    private func plan(_ setup: Rig.Setup, trusting trust: UpstreamTLS.Files) throws -> ProxyConfiguration {
        let tls = try UpstreamTLS(trust)
        let routes = setup.routes(1).map { plan in
            var plan = plan
            plan.upstream.tls = tls
            return plan
        }
        return ProxyConfiguration(listeners: [], routes: routes, eventLoops: 1)
    }

    /// Sends a request to an upstream that the gateway does not trust. The gateway gives up the begun TLS handshake.
    private func expectDistrust(_ rig: Rig, _ caller: Peer, _ target: String) async throws {
        try await caller.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = try? await rig.upstream.accept().rest()
        #expect(try await caller.answer().head.status == 502)
    }

    private func request(_ caller: Peer) async throws -> Int {
        try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
        return try await caller.answer().head.status
    }

    @Test func `new connections get the new certificate, and open ones go on`() async throws {
        var setup = Rig.Setup()
        setup.eventLoops = 2
        setup.tls = try CallerTLS(self.files.pair("server"))
        try await withRig(setup) { rig in
            let old = try await rig.secureCaller(.caller())
            #expect(try await self.request(old) == 404)

            let renewal = rig.server.renewCertificates(from: try self.plan(rig, listener: "other"))

            #expect(renewal == CertificateRenewal(listeners: [.init(host: "127.0.0.1", port: 0)], routes: []))
            #expect(try await self.request(old) == 404)
            for _ in 1...4 {
                let new = try await rig.secureCaller(.caller(trusting: TestCertificates.authority))
                #expect(try await self.request(new) == 404)
            }
            let stale = try await rig.secureCaller(.caller())
            #expect(try await stale.rest().ending == .reset)
        }
    }

    @Test func `reading the same certificate again is not reported`() async throws {
        var setup = Rig.Setup()
        setup.tls = try CallerTLS(self.files.pair("server"))
        try await withRig(setup) { rig in
            let plan = try self.plan(rig, listener: "server")
            #expect(rig.server.renewCertificates(from: plan) == CertificateRenewal())
        }
    }

    @Test func `another listener's certificate does not replace this one's`() async throws {
        var setup = Rig.Setup()
        setup.tls = try CallerTLS(self.files.pair("server"))
        try await withRig(setup) { rig in
            let plan = try self.plan(rig, listener: "other", host: "127.0.0.2")
            #expect(rig.server.renewCertificates(from: plan) == CertificateRenewal())
            #expect(try await self.request(rig.secureCaller(.caller())) == 404)
        }
    }

    @Test func `new connections to an upstream trust the authority that the file names now`() async throws {
        let trust = UpstreamTLS.Files(certificateAuthorities: self.files.path("roots.pem"))
        try self.files.write(TestCertificates.authority, to: "roots.pem")
        var setup = Rig.Setup()
        setup.speaksTLS = true
        let tls = try UpstreamTLS(trust)
        setup.routes = { port in
            ["one", "two"].map { name in
                .sample(port: port) {
                    $0.name = name
                    $0.path = "/\(name)/"
                    $0.upstream.tls = tls
                }
            }
        }
        try await withRig(setup) { [setup] rig in
            let caller = try await rig.caller()
            try await self.expectDistrust(rig, caller, "/one/")

            try self.files.write(TestCertificates.selfSigned, to: "roots.pem")
            let renewal = try rig.server.renewCertificates(from: self.plan(setup, trusting: trust))

            #expect(renewal == CertificateRenewal(listeners: [], routes: ["one", "two"]))
            // The event loop knows the new trust after this. Otherwise it might dial twice.
            try await rig.settle()
            try await caller.send("GET /one/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try await caller.head().status == 204)
        }
    }

    @Test func `a connection made under the old trust serves no further request`() async throws {
        let trust = UpstreamTLS.Files(certificateAuthorities: self.files.path("roots.pem"))
        try self.files.write(TestCertificates.selfSigned, to: "roots.pem")
        var setup = Rig.Setup()
        setup.speaksTLS = true
        let tls = try UpstreamTLS(trust)
        setup.routes = { port in [.sample(port: port) { $0.upstream.tls = tls }] }
        try await withRig(setup) { [setup] rig in
            // Given an idle connection, and one in use
            let idle = try await rig.caller()
            let busy = try await rig.caller()
            var upstreams: [Peer] = []
            for caller in [idle, busy] {
                try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
                let upstream = try await rig.upstream.accept()
                _ = try await upstream.head()
                upstreams.append(upstream)
            }
            try await upstreams[0].send("HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try await idle.head().status == 204)

            // When the upstream's authority is removed
            try self.files.write(TestCertificates.authority, to: "roots.pem")
            _ = try rig.server.renewCertificates(from: self.plan(setup, trusting: trust))

            // Then the idle connection ends at once, the other one after its response, and no new one is made
            _ = try await upstreams[0].rest()
            try await upstreams[1].send("HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try await busy.head().status == 204)
            _ = try await upstreams[1].rest()
            for caller in [idle, busy] { try await self.expectDistrust(rig, caller, "/acme/") }
        }
    }
}
