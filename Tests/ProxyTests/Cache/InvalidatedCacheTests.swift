import NIOCore
import Proxy
import Testing

/// What requests of other methods change about stored responses (RFC 9111 §4.4, §4.3.5).
@Suite struct InvalidatedCacheTests {
    /// A request that may change something, its response, and which of `/acme/a`, `/acme/b` and `/acme/c` are not
    /// served from memory afterwards.
    struct Row: Sendable, CustomTestStringConvertible {
        let method: String
        let status: String
        var fields: [String] = []
        /// Of the response; `UPSTREAM` stands for the upstream's host and port.
        var targets: [String] = []
        let removed: Set<String>

        var testDescription: String {
            ([self.method, self.status] + self.fields + self.targets).joined(separator: " ")
        }
    }

    private static let rows = [
        Row(method: "POST", status: "200 OK", removed: ["a"]),
        Row(method: "POST", status: "201 Created", targets: ["Location: /v2/b"], removed: ["a", "b"]),
        Row(method: "POST", status: "303 See Other", targets: ["Location: /v2/b"], removed: ["a", "b"]),
        Row(
            method: "POST",
            status: "200 OK",
            targets: ["Location: http://UPSTREAM/v2/b", "Content-Location: c"],
            removed: ["a", "b", "c"]
        ),
        Row(method: "PUT", status: "204 No Content", targets: ["Content-Location: /v2/c#part"], removed: ["a", "c"]),
        Row(method: "PATCH", status: "200 OK", targets: ["Location: http://other.example/v2/b"], removed: ["a"]),
        Row(method: "DELETE", status: "202 Accepted", targets: ["Location: //other.example/v2/b"], removed: ["a"]),
        Row(method: "PROPPATCH", status: "200 OK", removed: ["a"]),
        Row(method: "GET", status: "200 OK", fields: ["X-HTTP-Method-Override: DELETE"], removed: ["a"]),
        // Nothing has changed.
        Row(method: "POST", status: "400 Bad Request", targets: ["Location: /v2/b"], removed: []),
        Row(method: "DELETE", status: "404 Not Found", removed: []),
        Row(method: "PUT", status: "500 Internal Server Error", removed: []),
        Row(method: "OPTIONS", status: "200 OK", targets: ["Location: /v2/b"], removed: []),
    ]

    @Test(arguments: rows)
    func `an unsafe request that succeeds removes what its response names`(row: Row) async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(for: Cached.get("/acme/a"))
            for name in ["b", "c"] {
                let get = Cached.get("/acme/\(name)")
                _ = try await caller.ask(get, answeredBy: Cached.fresh, from: upstream)
            }
            let targets = row.targets.map { target in
                target.split(separator: "UPSTREAM", omittingEmptySubsequences: false)
                    .joined(separator: "127.0.0.1:\(rig.upstream.port)")
            }
            let hasLength = !row.status.hasPrefix("204")
            let response =
                (["HTTP/1.1 \(row.status)"] + targets + (hasLength ? ["Content-Length: 0"] : []) + ["", ""])
                .joined(separator: "\r\n")
            let fields = row.fields + (row.method == "GET" || row.method == "OPTIONS" ? [] : ["Content-Length: 0"])
            try await caller.send(Cached.request(row.method, "/acme/a", fields))
            #expect(try await upstream.request().head.request == "\(row.method) /v2/a")
            try await upstream.send(response)
            let head = try await caller.head()
            #expect(row.status.hasPrefix("\(head.status) "))
            #expect(head.cacheStatus.hasPrefix("martlet; fwd="))

            let serving = upstream.answersAll(with: Cached.second)
            defer { serving.cancel() }
            for name in ["a", "b", "c"] {
                let (head, body) = try await caller.ask(Cached.get("/acme/\(name)"))
                #expect(head.isHit == !row.removed.contains(name))
                #expect(body == (row.removed.contains(name) ? "second" : "first"))
            }
        }
    }

    @Test func `all variants of a resource go`() async throws {
        try await withRig(.caching()) { rig in
            let varying = Cached.response("max-age=60", "Vary: X-Kind")
            let kinds = (1...3).map { Cached.get("/acme/a", "X-Kind: \($0)") }
            let (caller, upstream) = try await rig.stored(varying, for: kinds[0])
            for get in kinds[1...] { _ = try await caller.ask(get, answeredBy: varying, from: upstream) }
            #expect(await rig.storedCount == 3)
            let delete = Cached.request("DELETE", "/acme/a")
            _ = try await caller.ask(delete, answeredBy: Cached.empty("200 OK"), from: upstream)
            #expect(await rig.storedCount == 0)
        }
    }

    @Test func `a response to a request that was sent before the change is not stored`() async throws {
        try await withRig(.caching()) { rig in
            let (reader, upstream) = try await rig.begun(Cached.get())
            let waiter = try await rig.asking()
            try await rig.settle()
            let writer = try await rig.asking(Cached.request("DELETE", "/acme/a"))
            let other = try await rig.upstream.accept()
            _ = try await other.request()
            try await other.send(Cached.empty("200 OK"))
            _ = try await writer.answer()

            // The one that waited asks for what is there now.
            #expect(try await other.request().head.request == "GET /v2/a")
            try await upstream.send(Cached.fresh)
            #expect(try await reader.answer().body == "first")
            #expect(await rig.storedCount == 0)
            try await other.send(Cached.second)
            #expect(try await waiter.answer().body == "second")
            #expect(try await reader.ask().body == "second")
        }
    }

    private static let freshening: [(fields: [String], isConfirmed: Bool?)] = [
        (["ETag: \"1\"", "Content-Length: 5"], true), (["ETag: \"1\""], true), (["Content-Length: 5"], true),
        (["ETag: \"2\"", "Content-Length: 5"], false), (["ETag: \"1\"", "Content-Length: 6"], false), ([], nil),
    ]

    @Test(arguments: freshening)
    func `a response to HEAD confirms what is stored, or shows that there is something else`(
        fields: [String],
        isConfirmed: Bool?
    ) async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Cached.stale())
            try await caller.send(Cached.request("HEAD", "/acme/a"))
            #expect(try await upstream.request().head.request == "HEAD /v2/a")
            let lines = ["HTTP/1.1 200 OK", "Cache-Control: max-age=60", "X-New: 1"] + fields + ["", ""]
            try await upstream.send(lines.joined(separator: "\r\n"))
            #expect(try await caller.head()["X-New"] == "1")

            guard isConfirmed != true else {
                let (head, body) = try await caller.ask()
                #expect(head.isHit)
                #expect(body == "first")
                #expect(head["X-New"] == "1")
                return
            }
            let (head, _, sent) = try await caller.ask(answeredBy: Cached.second, from: upstream)
            // What is unknown stays, and is asked about.
            #expect(sent["If-None-Match"] == (isConfirmed == nil ? "\"1\"" : nil))
            #expect(head.cacheStatus.hasPrefix(isConfirmed == nil ? "martlet; fwd=stale" : "martlet; fwd=uri-miss"))
        }
    }

    @Test func `HEAD asks about a stale response, and a 304 confirms it`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Cached.stale())
            try await caller.send(Cached.request("HEAD", "/acme/a"))
            #expect(try await upstream.request().head["If-None-Match"] == "\"1\"")
            try await upstream.send(Cached.notModified)
            let head = try await caller.head()
            #expect(head.status == 200)
            #expect(head["Content-Length"] == "5")
            #expect(try await caller.ask().head.isHit)
        }
    }
}
