import NIOCore
import Proxy
import TestKit
import Testing
import TokenModel

/// Cookies of an upstream's sessions, which are credentials that outlive a kill.
@Suite struct CookieTests {
    private static let request = "GET /acme/x HTTP/1.1\r\nHost: a\r\nCookie: session=canary\r\nA: b\r\n\r\n"

    /// Sends one request with a cookie, whose response and interim response set one. Returns what arrived at the
    /// upstream and what came back.
    private func exchange(_ rig: Rig) async throws -> (request: Message, interim: Message, answer: Message) {
        let caller = try await rig.caller()
        defer { caller.close() }
        try await caller.send(Self.request)
        let upstream = try await rig.upstream.accept()
        let request = try await upstream.head()
        try await upstream.send("HTTP/1.1 103 Early Hints\r\nset-cookie: session=canary\r\nC: d\r\n\r\n")
        let interim = try await caller.head()
        try await upstream.send(
            "HTTP/1.1 200 OK\r\nSet-Cookie: session=canary\r\nC: d\r\nSET-COOKIE: x=canary\r\n"
                + "Connection: close\r\nContent-Length: 0\r\n\r\n"
        )
        let answer = try await caller.head()
        upstream.close()
        return (request, interim, answer)
    }

    private func told(_ log: RecordingLog, _ field: String) -> Int {
        log.lines.count {
            $0.hasPrefix("warning cookies were dropped") && $0.hasSuffix(" http.field=\(field) route.name=acme")
        }
    }

    @Test func `cookies pass in neither direction, which is logged once per route, across event loops and reloads`()
        async throws
    {
        let log = RecordingLog()
        var setup = Rig.Setup(eventLoops: 3)
        setup.log = log
        try await withRig(setup) { rig in
            for _ in 0..<12 {
                let (request, interim, answer) = try await self.exchange(rig)
                #expect(request.all("Cookie") == [] && request["A"] == "b")
                #expect(interim.status == 103 && interim.all("Set-Cookie") == [] && interim["C"] == "d")
                #expect(answer.status == 200 && answer.all("Set-Cookie") == [] && answer["C"] == "d")
            }
            #expect(self.told(log, "Cookie") == 1)
            #expect(self.told(log, "Set-Cookie") == 1)
            let routes = Rig.routes(setup, rig.upstream.port)
            _ = await rig.server.reload(ProxyConfiguration(listeners: [], routes: routes, eventLoops: 3))
            _ = try await self.exchange(rig)
            #expect(log.lines.count { $0.hasPrefix("warning") } == 2)
            #expect(!log.text.contains("canary"))
        }
    }

    @Test func `a route that allows cookies passes them on and logs nothing`() async throws {
        let log = RecordingLog()
        var setup = Rig.Setup.route { $0.passesCookies = true }
        setup.log = log
        try await withRig(setup) { rig in
            let (request, interim, answer) = try await self.exchange(rig)
            #expect(request["Cookie"] == "session=canary")
            #expect(interim["Set-Cookie"] == "session=canary")
            #expect(answer.all("Set-Cookie") == ["session=canary", "x=canary"])
        }
        #expect(!log.text.contains("cookies"))
    }

    @Test func `a route that sees no cookies logs nothing about them`() async throws {
        let log = RecordingLog()
        var setup = Rig.Setup()
        setup.log = log
        try await withRig(setup) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/x HTTP/1.1\r\nHost: a\r\nCookies: no\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 OK\r\nSet-Cookies: no\r\nContent-Length: 0\r\n\r\n")
            #expect(try await caller.head()["Set-Cookies"] == "no")
        }
        #expect(!log.text.contains("cookies"))
    }

    @Test(arguments: [false, true])
    func `the cookies of a handshake follow the same rule, and trailers never set cookies`(passesCookies: Bool)
        async throws
    {
        try await withRig(.route { $0.passesCookies = passesCookies }) { rig in
            let tunnel = try await rig.caller()
            try await tunnel.send(Handshake.request("chat", "Cookie: session=canary\r\n"))
            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.head().all("Cookie").count == (passesCookies ? 1 : 0))
            try await upstream.send(
                Handshake.accepted.replacing("\r\n\r\n", with: "\r\nSet-Cookie: session=canary\r\n\r\n")
            )
            #expect(try await tunnel.head().all("Set-Cookie").count == (passesCookies ? 1 : 0))

            let caller = try await rig.caller()
            try await caller.send("GET /acme/x HTTP/1.1\r\nHost: a\r\n\r\n")
            let other = try await rig.upstream.accept()
            _ = try await other.head()
            let trailers = "Set-Cookie: a=b\r\nX-Checksum: 1\r\nAlt-Svc: clear\r\n\r\n"
            try await other.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n" + trailers)
            _ = try await caller.head()
            let rest = "1\r\na\r\n0\r\nX-Checksum: 1\r\n\r\n"
            #expect(try await caller.bytes(rest.utf8.count) == ByteBuffer(string: rest))
        }
    }

    @Test func `fields about the upstream's own host are dropped, and URLs of the upstream are mapped back`()
        async throws
    {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            let base = "http://127.0.0.1:\(rig.upstream.port)/v2/"
            try await upstream.send(
                """
                HTTP/1.1 202 Accepted\r
                Alt-Svc: h3=":443"\r
                Strict-Transport-Security: max-age=63072000\r
                Operation-Location: \(base)jobs/1\r
                Public-Key-Pins: pin-sha256="x"\r
                Public-Key-Pins-Report-Only: pin-sha256="x"\r
                Refresh: 5; url=\(base)jobs/1\r
                Content-Length: 0\r
                \r

                """
            )
            let answer = try await caller.head()
            #expect(answer.fields.map(\.name) == ["Operation-Location", "Refresh", "Content-Length", "Date"])
            #expect(answer["Operation-Location"] == "/acme/jobs/1")
            #expect(answer["Refresh"] == "5; url=/acme/jobs/1")
        }
    }
}
