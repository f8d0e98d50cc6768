import NIOCore
import Proxy
import Telemetry
import TestKit
import Testing

@Suite struct EarlyResponseTests {
    @Test func `a response during an upload is passed on, the rest of the upload is read, and the connection ends`()
        async throws
    {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nhello")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 4\r\n\r\nmuch")
            let (head, body) = try await caller.answer()
            #expect(head.status == 413)
            #expect(head["Connection"] == "close")
            #expect(body == "much")
            #expect(try await caller.ending() == .clean)
            // The caller can still send. A connection closed in both directions would be reset by the first of these
            // bytes.
            for _ in 1...8 { try await caller.send(ByteBuffer(repeating: 0x61, count: 60_000)) }
            _ = try await upstream.rest()
        }
    }

    @Test func `a caller that keeps sending, however much, gets its response`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n")
            let piece = ByteBuffer(repeating: 0x61, count: 1 << 16)
            for _ in 1...320 { try await caller.send(piece) }
            #expect(try await caller.answer().head.status == 404)
            #expect(try await caller.ending() == .clean)
        }
    }

    @Test func `a caller that neither sends nor leaves is cut off after five seconds`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n")
            #expect(try await caller.answer().head.status == 404)
            #expect(try await caller.ending() == .clean)
            // The end above is the gateway's sending side. The gateway stops reading later.
            try await eventually("the connection's end") { await rig.server.traffic().downstreamConnections == 0 }
        }
    }
}
