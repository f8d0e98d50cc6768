import NIOCore
import Proxy
import Testing

@Suite struct BrokenResponseTests {
    @Test(
        arguments: [
            ("Content-Length: 10\r\n\r\nhello", "hello"),
            ("Transfer-Encoding: chunked\r\n\r\na\r\nhello", "5\r\nhello\r\n"),
            ("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "5\r\nhello\r\n"),
            ("Content-Length: 10\r\n\r\n", ""),
        ]
    )
    func `a truncated response is passed on as far as it came, and its framing reveals the truncation`(
        rest: String,
        arrives: String
    ) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            // The response and the end arrive together, before the gateway has passed anything on.
            try await upstream.send("HTTP/1.1 200 OK\r\n\(rest)")
            upstream.close()
            #expect(try await caller.head().status == 200)
            let (bytes, ending) = try await caller.rest()
            #expect(String(buffer: bytes) == arrives)
            #expect(ending == .clean)
        }
    }

    @Test func `a reset by the upstream does not discard what came before it`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            #expect(try await caller.head().status == 200)
            try await upstream.reset()
            let (bytes, ending) = try await caller.rest()
            #expect(String(buffer: bytes) == "hello")
            #expect(ending == .clean)
        }
    }

    @Test func `where only the connection's end marks a complete response, a truncated one ends with a reset`()
        async throws
    {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.0\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            #expect(try await caller.head().status == 200)
            upstream.close()
            #expect(try await caller.rest().ending == .reset)
        }
    }

    @Test func `a malformed chunk ends both connections, and what came before it is passed on`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nxyz\r\n")
            #expect(try await caller.head().status == 200)
            let (bytes, ending) = try await caller.rest()
            #expect(String(buffer: bytes) == "5\r\nhello\r\n")
            #expect(ending == .clean)
            _ = try await upstream.rest()
        }
    }

    @Test func `a caller that disconnects during a download ends the upstream connection too`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\nhello")
            #expect(try await caller.head().status == 200)
            try await caller.reset()
            _ = try await upstream.ending()
        }
    }

    @Test(
        arguments: ["Content-Length: 10\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"],
        [true, false]
    )
    func `a caller that disconnects during an upload leaves no complete request behind`(rest: String, resets: Bool)
        async throws
    {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\n\(rest)")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            let size = rest.hasPrefix("T") ? 10 : 5
            #expect(try await upstream.bytes(size).readableBytes == size)
            if resets { try await caller.reset() } else { caller.close() }
            // Not one byte more arrives, above all no last chunk.
            _ = try await upstream.ending()
        }
    }

    @Test func `a caller that disconnects before its response does not disturb the gateway`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await caller.reset()
            _ = try await upstream.ending()
            try await rig.settle()
        }
    }
}
