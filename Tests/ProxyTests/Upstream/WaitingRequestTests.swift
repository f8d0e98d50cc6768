import Proxy
import TestKit
import Testing
import TokenModel

/// Requests that wait while connections to the upstream are being made.
@Suite struct WaitingRequestTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// An upstream that answers the handshake of its first connections alone.
    private func setup(handshakes: Int) throws -> Rig.Setup {
        let directory = try TemporaryDirectory()
        try directory.write(Array(TestCertificates.selfSigned.utf8), to: "ca.pem")
        let tls = try UpstreamTLS(.init(certificateAuthorities: directory.path(of: "ca.pem")))
        var setup = Rig.Setup.route { plan in
            plan.upstream.tls = tls
            plan.timeouts.connect = .seconds(60)
        }
        setup.speaksTLS = true
        setup.handshakes = handshakes
        return setup
    }

    @Test func `a request whose connection is not made takes one that becomes free`() async throws {
        try await withRig(self.setup(handshakes: 1)) { rig in
            let (first, upstream) = try await rig.begun()
            let second = try await rig.caller()
            try await second.send("POST /acme/second HTTP/1.1\r\nHost: a\r\n" + "hello".framed(false))
            let silent = try await rig.upstream.accept()

            try await upstream.send(Self.ok)
            #expect(try await first.answer().body == "ok")
            #expect(try await upstream.request().head.request == "POST /v2/second")

            // When that connection fails after all, nobody hears of it
            silent.close()
            try await rig.settle()
            try await upstream.send(Self.ok)
            #expect(try await second.answer().body == "ok")
        }
    }

    @Test func `a connection that can't be made fails the request that has none, and no other`() async throws {
        try await withRig(self.setup(handshakes: 2)) { rig in
            let (first, upstream) = try await rig.begun()
            let (other, _) = try await rig.begun()
            let waiting = try await rig.caller()
            try await waiting.send("GET /acme/waiting HTTP/1.1\r\nHost: a\r\n\r\n")
            try await rig.upstream.accept().close()
            let answer = try await waiting.answer()
            #expect(answer.head.status == 502)
            #expect(answer.body.contains("upstream_unreachable"))
            try await upstream.send(Self.ok)
            #expect(try await first.answer().body == "ok")
            other.close()
        }
    }

    @Test func `a request whose connection fails waits for one that another request needs no more`() async throws {
        try await withRig(self.setup(handshakes: 1)) { rig in
            let (first, upstream) = try await rig.begun()
            let (second, third) = (try await rig.caller(), try await rig.caller())
            try await second.send("GET /acme/second HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await rig.upstream.accept()
            try await third.send("GET /acme/third HTTP/1.1\r\nHost: a\r\n\r\n")
            let failing = try await rig.upstream.accept()
            // The second one gets the free connection, so the one that is made for it is to spare.
            try await upstream.send(Self.ok)
            #expect(try await first.answer().body == "ok")
            #expect(try await upstream.head().request == "GET /v2/second")
            failing.close()
            try await rig.settle()
            try await upstream.send(Self.ok)
            #expect(try await second.answer().body == "ok")
            #expect(try await upstream.head().request == "GET /v2/third")
        }
    }

    @Test func `a request that was lost on a stale connection waits for its new one, and takes no other used one`()
        async throws
    {
        try await withRig(self.setup(handshakes: 2)) { rig in
            let (first, used) = try await rig.begun()
            let (second, stale) = try await rig.begun()
            try await stale.send(Self.ok)
            _ = try await second.answer()
            try await second.send("GET /acme/lost HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await stale.head()
            stale.close()
            let silent = try await rig.upstream.accept()
            // When another connection becomes free, then it goes to the next request
            try await used.send(Self.ok)
            _ = try await first.answer()
            try await first.send("GET /acme/next HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await used.head().request == "GET /v2/next")
            silent.close()
            #expect(try await second.answer().head.status == 502)
        }
    }

    @Test func `a connection serves requests for its time, and a request after that gets a new one`() async throws {
        try await withRig(.route { $0.connectionAge = .seconds(20) }.frozen) { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send(Self.ok)
            _ = try await caller.answer()
            for _ in 1...3 {
                try await rig.pass(.seconds(5))
                try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try await upstream.head()
                try await upstream.send(Self.ok)
                _ = try await caller.answer()
            }
            // At most 22 s
            try await rig.pass(.seconds(8))
            try await caller.send("GET /acme/late HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await rig.upstream.accept().head().request == "GET /v2/late")
            #expect(try await upstream.ending() == .clean)
        }
    }
}
