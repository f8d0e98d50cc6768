import HTTPCaching
import NIOCore
import Proxy
import Testing

/// Stored bodies on their way to callers: in the order of the requests, and as fast as each caller reads.
@Suite struct ServedBodyTests {
    @Test func `pipelined requests get their responses in order, hits among misses`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored()
            let targets = ["/acme/a", "/acme/b", "/acme/a", "/acme/a", "/acme/c", "/acme/a"]
            try await caller.send(targets.map { Cached.get($0) }.joined())
            for body in ["b", "c"] {
                #expect(try await upstream.request().head.request == "GET /v2/\(body)")
                try await upstream.send(Cached.response("max-age=60", body: body))
            }

            var bodies: [String] = []
            for _ in targets { bodies.append(try await caller.answer().body) }

            #expect(bodies == ["first", "b", "first", "first", "c", "first"])
            #expect(await rig.server.cacheStatus().map(\.hits) == [4])
        }
    }

    @Test func `a connection that its caller has ended gets its stored response whole`() async throws {
        try await withRig(.caching()) { rig in
            let (_, _) = try await rig.stored(Cached.response("max-age=60", body: LargeBody.text))
            let caller = try await rig.asking()
            try await caller.finish()
            #expect(try await caller.answer().body == LargeBody.text)
            #expect(try await caller.ending() == .clean)
        }
    }

    @Test func `a large body waits for its reader, and other callers do not`() async throws {
        try await withRig(.caching()) { rig in
            let (other, _) = try await rig.stored(Cached.response("max-age=60", body: LargeBody.text))
            let slow = try await Peer.connect(to: rig.port, isNarrow: true)
            try await slow.send(Cached.get())
            let head = try await slow.head()
            #expect(head.isHit)
            try await rig.settle()
            // The rest is not copied to wait for the caller.
            #expect(await rig.server.requestCount() == 1)

            #expect(try await other.ask().body == LargeBody.text)
            #expect(String(buffer: try await slow.body(of: head)) == LargeBody.text)

            // The connection serves the next request.
            #expect(try await slow.ask(Cached.get("/acme/a", "Range: bytes=0-7")).body == "00000000")
            #expect(await rig.server.requestCount() == 0)
        }
    }

    @Test func `a body of any size costs no more of the stack than a small one`() async throws {
        let size = 64 << 20
        let cache = CacheConfiguration(rules: CacheRules(maxObject: size))
        try await withRig(.caching(cache)) { rig in
            let caller = try await rig.asking()
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            async let sent: Void = upstream.send(
                Cached.response("max-age=60", body: String(repeating: "a", count: size))
            )
            #expect(try await caller.answer().body.utf8.count == size)
            try await sent
            try await caller.send(Cached.get())
            #expect(try await caller.answer().body.utf8.count == size)
            #expect(await rig.server.cacheStatus().map(\.hits) == [1])
        }
    }

    @Test func `a chunked response is stored, and sent with its length`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, _) = try await rig.stored(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n" + LargeBody.text.framed(true)
            )
            let (head, body) = try await caller.ask()
            #expect(head.isHit)
            #expect(head["Content-Length"] == "\(LargeBody.text.utf8.count)")
            #expect(body == LargeBody.text)
        }
    }

    @Test func `a caller of HTTP 1.0 gets a stored response and keeps its connection if it asks for that`()
        async throws
    {
        try await withRig(.caching()) { rig in
            _ = try await rig.stored()
            let caller = try await rig.caller()
            for _ in 0..<2 {
                let (head, body) = try await caller.ask(
                    "GET /acme/a HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n"
                )
                #expect(head.isHit)
                #expect(head["Content-Length"] == "5")
                #expect(body == "first")
            }
        }
    }

    @Test(arguments: ["404 Not Found", "301 Moved Permanently", "204 No Content"])
    func `responses with other statuses are stored too, and conditions do not apply to errors`(
        status: String
    ) async throws {
        try await withRig(.caching()) { rig in
            let response =
                status.hasPrefix("204")
                ? "HTTP/1.1 204 No Content\r\nCache-Control: max-age=60\r\n\r\n"
                : Cached.empty(status, "Cache-Control: max-age=60", "ETag: \"1\"", "Location: /v2/b")
            let caller = try await rig.asking()
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await upstream.send(response)
            _ = try await caller.head()

            let (head, _) = try await caller.ask(Cached.get("/acme/a", "If-None-Match: \"1\""))

            #expect(head.isHit)
            #expect(status.hasPrefix("\(head.status) "))
            // A stored target is mapped anew each time.
            if head.status == 301 { #expect(head["Location"] == "/acme/b") }
            #expect(rig.upstream.connections == 1)
        }
    }
}

/// A body of 1 MiB, each part of which tells where it is.
enum LargeBody {
    static let text: String = (0..<131_072).map { number in
        let digits = String(number)
        return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }.joined()
}
