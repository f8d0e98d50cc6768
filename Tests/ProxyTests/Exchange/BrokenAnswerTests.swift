import NIOCore
import Proxy
import Testing

@Suite struct BrokenAnswerTests {
    @Test(
        arguments: [
            "Content-Length: 10\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\na\r\nhello",
            "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "Content-Length: 10\r\n\r\n",
        ],
        [true, false]
    )
    func `an upstream that ends in the middle of its answer costs the caller its connection, by a reset`(
        rest: String,
        resets: Bool
    ) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\n\(rest)")
            #expect(try await caller.head().status == 200)
            if resets { try await upstream.reset() } else { upstream.close() }
            #expect(try await caller.rest().ending == .reset)
        }
    }

    @Test func `a malformed chunk costs both connections`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nxyz\r\n")
            #expect(try await caller.rest().ending == .reset)
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
            caller.close()
            _ = try await upstream.ending()
            try await rig.settle()
        }
    }
}
