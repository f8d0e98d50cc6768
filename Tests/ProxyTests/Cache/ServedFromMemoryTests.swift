import Proxy
import Testing

/// What a caller gets of a stored response: the whole, a part, or the word that it has it already.
@Suite struct ServedFromMemoryTests {
    private static let changed = "Thu, 01 Jan 2026 00:00:00 GMT"
    private static let dated = Cached.response("max-age=60", "ETag: \"1\"", "Last-Modified: \(changed)")

    struct Row: Sendable, CustomTestStringConvertible {
        let fields: [String]
        let status: Int
        var body = ""
        var range: String?

        var testDescription: String { self.fields.joined(separator: ", ") }
    }

    private static let parts = [
        Row(fields: ["Range: bytes=1-3"], status: 206, body: "irs", range: "bytes 1-3/5"),
        Row(fields: ["Range: bytes=3-"], status: 206, body: "st", range: "bytes 3-4/5"),
        Row(fields: ["Range: bytes=-2"], status: 206, body: "st", range: "bytes 3-4/5"),
        Row(fields: ["Range: bytes=5-"], status: 416, range: "bytes */5"),
        // Several ranges are answered by the whole.
        Row(fields: ["Range: bytes=0-1,3-4"], status: 200, body: "first"),
        Row(fields: ["Range: bytes=1-3", "If-Range: \"1\""], status: 206, body: "irs", range: "bytes 1-3/5"),
        Row(fields: ["Range: bytes=1-3", "If-Range: \"2\""], status: 200, body: "first"),
        Row(fields: ["Range: bytes=1-3", "If-Range: W/\"1\""], status: 200, body: "first"),
        Row(fields: ["If-None-Match: \"1\""], status: 304),
        Row(fields: ["If-None-Match: \"0\", W/\"1\""], status: 304),
        Row(fields: ["If-None-Match: *"], status: 304),
        Row(fields: ["If-None-Match: \"1\"", "Range: bytes=1-3"], status: 304),
        Row(fields: ["If-None-Match: \"2\""], status: 200, body: "first"),
        Row(fields: ["If-Modified-Since: \(changed)"], status: 304),
        Row(fields: ["If-Modified-Since: Wed, 31 Dec 2025 23:59:59 GMT"], status: 200, body: "first"),
        // The tag counts, not the date.
        Row(fields: ["If-None-Match: \"2\"", "If-Modified-Since: \(changed)"], status: 200, body: "first"),
    ]

    @Test(arguments: parts)
    func `conditions and ranges are answered from memory`(row: Row) async throws {
        try await withRig(.caching()) { rig in
            let (caller, _) = try await rig.stored(Self.dated)

            let (head, body) = try await caller.ask(Cached.request("GET", "/acme/a", row.fields))

            #expect(head.status == row.status)
            #expect(body == row.body)
            #expect(head["Content-Range"] == row.range)
            #expect(head.isHit)
            #expect(head["Age"] != nil)
            if row.status != 416 { #expect(head["ETag"] == "\"1\"") }
            // Nothing follows the response, and the connection serves the next request.
            #expect(try await caller.ask().body == "first")
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test(arguments: ["If-Match: \"1\"", "If-Unmodified-Since: \(changed)"])
    func `a condition that only the upstream can judge goes upstream`(field: String) async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Self.dated)

            let (head, _, sent) = try await caller.ask(
                Cached.get("/acme/a", field),
                answeredBy: Cached.empty("412 Precondition Failed"),
                from: upstream
            )

            #expect(sent.fields.contains { "\($0.name): \($0.value)" == field })
            #expect(head.status == 412)
            #expect(head.cacheStatus == "martlet; fwd=bypass; fwd-status=412")
        }
    }

    @Test func `HEAD is answered from the response to GET`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, _) = try await rig.stored()

            let (head, _) = try await caller.ask(Cached.request("HEAD", "/acme/a"))

            #expect(head.status == 200)
            #expect(head["Content-Length"] == "5")
            #expect(head.isHit)
            // No body follows the head.
            #expect(try await caller.ask().body == "first")
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `a response that came with an age grows older in memory`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, _) = try await rig.stored(Cached.response("max-age=60", "Age: 20"))

            let (head, _) = try await caller.ask()

            let age = try #require(head["Age"].flatMap { Int($0) })
            #expect((20...50).contains(age))
            #expect(head.cacheStatus == "martlet; hit; ttl=\(60 - age)")
        }
    }

    @Test func `a response to other values of the fields that Vary names does not count`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(
                Cached.response("max-age=60", "Vary: X-Kind"),
                for: Cached.get("/acme/a", "X-Kind: 1")
            )

            let (other, _, _) = try await caller.ask(
                Cached.get("/acme/a", "X-Kind: 2"),
                answeredBy: Cached.response("max-age=60", "Vary: X-Kind", body: "second"),
                from: upstream
            )

            #expect(other.cacheStatus == "martlet; fwd=vary-miss; fwd-status=200; ttl=60; stored")
            #expect(try await caller.ask(Cached.get("/acme/a", "X-Kind: 1")).body == "first")
            #expect(try await caller.ask(Cached.get("/acme/a", "X-Kind: 2")).body == "second")
            #expect(await rig.storedCount == 2)
        }
    }

    @Test func `cookies are not stored, even on a route that lets them pass`() async throws {
        try await withRig(.caching { $0.passesCookies = true }) { rig in
            let caller = try await rig.asking()
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await upstream.send(Cached.response("max-age=60", "Set-Cookie: session=1"))
            #expect(try await caller.answer().head["Set-Cookie"] == "session=1")

            let (head, _) = try await caller.ask()

            #expect(head.isHit)
            #expect(head.all("Set-Cookie").isEmpty)
        }
    }
}
