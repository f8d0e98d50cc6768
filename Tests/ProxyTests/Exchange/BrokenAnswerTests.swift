import NIOCore
import Proxy
import Testing

@Suite struct BrokenAnswerTests {
    @Test(
        arguments: [
            ("Content-Length: 10\r\n\r\nhello", "hello"),
            ("Transfer-Encoding: chunked\r\n\r\na\r\nhello", "5\r\nhello\r\n"),
            ("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "5\r\nhello\r\n"),
            ("Content-Length: 10\r\n\r\n", ""),
        ]
    )
    func `of a response that was cut all goes on that came, and then the end, by which its framing shows the cut`(
        rest: String,
        arrives: String
    ) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            // In one piece with the end, before anything has been passed on.
            try await upstream.send("HTTP/1.1 200 OK\r\n\(rest)")
            upstream.close()
            #expect(try await caller.head().status == 200)
            let (bytes, ending) = try await caller.rest()
            #expect(String(buffer: bytes) == arrives)
            #expect(ending == .clean)
        }
    }

    @Test func `a reset of the upstream's keeps what had come before it, too`() async throws {
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

    @Test func `where only the end tells that a response is whole, a reset tells that one was cut`() async throws {
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

    @Test func `a malformed chunk costs both connections, and nothing before it`() async throws {
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

    @Test func `a caller that leaves while it downloads takes the upstream's connection with it`() async throws {
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
    func `a caller that leaves while it uploads leaves no whole request behind`(rest: String, resets: Bool) async throws
    {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\n\(rest)")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            let size = rest.hasPrefix("T") ? 10 : 5
            #expect(try await upstream.bytes(size).readableBytes == size)
            if resets { try await caller.reset() } else { caller.close() }
            // Not one byte more: above all no last chunk.
            _ = try await upstream.ending()
        }
    }

    @Test func `a caller that leaves before its answer is nobody's failure, and the gateway goes on`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await caller.reset()
            _ = try await upstream.ending()
            try await rig.settle()
        }
    }
}
