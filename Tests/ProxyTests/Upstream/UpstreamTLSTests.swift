import NIOCore
import NIOSSL
import Proxy
import TestKit
import Testing

@Suite struct UpstreamTLSTests {
    /// A setup with a route over TLS, to an upstream that speaks TLS or does not.
    private func setup(speaksTLS: Bool = true, connect: Duration = .seconds(5)) throws -> Rig.Setup {
        let directory = try TemporaryDirectory()
        try directory.write(Array(TestCertificates.selfSigned.utf8), to: "ca.pem")
        let tls = try UpstreamTLS(.init(certificateAuthorities: directory.path(of: "ca.pem")))
        var setup = Rig.Setup.route { plan in
            plan.upstream.tls = tls
            plan.timeouts.connect = connect
        }
        setup.speaksTLS = speaksTLS
        return setup
    }

    @Test func `requests share a connection, and each carries the token`() async throws {
        try await withRig(self.setup()) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/one HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            for path in ["one", "two"] {
                if path == "two" { try await caller.send("GET /acme/two HTTP/1.1\r\nHost: a\r\n\r\n") }
                let head = try await upstream.head()
                #expect(head.request == "GET /v2/\(path)")
                #expect(head["Authorization"] == "Bearer token-1")
                try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                #expect(try await caller.answer().body == "ok")
            }
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `a response that ends with the connection is complete if TLS ends too`() async throws {
        try await withRig(self.setup()) { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\n\r\nhello")
            upstream.close()
            #expect(try await caller.answer().body == "hello")
        }
    }

    @Test func `a response that is cut below TLS is incomplete, even if TCP ends cleanly`() async throws {
        try await withRig(self.setup()) { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\n\r\nhello")
            #expect(try await caller.head().status == 200)
            try await upstream.finishBelowTLS()
            // The last chunk is missing.
            #expect(String(buffer: try await caller.rest().bytes) == "5\r\nhello\r\n")
        }
    }

    @Test func `a closing connection keeps no place in the pool, even if the upstream sends no close_notify`()
        async throws
    {
        var setup = try self.setup().frozen
        let routes = setup.routes
        setup.routes = { port in
            routes(port).map { plan in
                var plan = plan
                plan.maxConnections = 1
                return plan
            }
        }
        try await withRig(setup) { rig in
            // Given a response after which the gateway closes the connection, and an upstream that does not read the
            // end
            let caller = try await rig.caller()
            try await caller.send("POST /acme/one HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            let first = try await rig.upstream.accept()
            _ = try await first.head()
            try await first.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            #expect(try await caller.answer().body == "ok")
            // When the next request comes, then it gets a new connection
            try await caller.send("POST /acme/two HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            let second = try await rig.upstream.accept()
            #expect(try await second.head().request == "POST /v2/two")
            try await second.send("HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try await caller.head().status == 204)
        }
    }

    @Test func `an unfinished handshake is given up after the connect timeout`() async throws {
        try await withRig(self.setup(speaksTLS: false, connect: .milliseconds(200))) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            let answer = try await caller.answer()
            #expect(answer.head.status == 502)
            #expect(answer.body.contains("urn:martlet:error:upstream_unreachable"))
            _ = try await upstream.rest()
        }
    }

    @Test func `an upstream that speaks plain HTTP on a TLS route gets no request`() async throws {
        try await withRig(self.setup(speaksTLS: false)) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            try await upstream.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            let answer = try await caller.answer()
            #expect(answer.head.status == 502)
            #expect(answer.body.contains("urn:martlet:error:upstream_unreachable"))
            #expect(!String(buffer: try await upstream.rest().bytes).contains("token-1"))
        }
    }

    @Test(arguments: [
        (BoringSSLError.sslError([]) as any Error, "the TLS handshake failed"),
        (ChannelError.connectTimeout(.seconds(1)), "did not answer in time"),
        (NIOSSLExtraError.failedToValidateHostname, "another name's; see upstream_tls"),
        (ChannelError.eof, "is it up"),
    ])
    func `the operator's message says why there is no connection`(cause: any Error, hint: String) {
        let error = GatewayError(dialling: cause)
        #expect(error.code == .upstreamUnreachable)
        #expect(error.message.contains(hint), "\(error.message)")
    }
}
