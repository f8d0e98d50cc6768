import NIOCore
import Proxy
import Telemetry
import TestKit
import Testing
import TokenModel

/// What one connection has sent is handled in turns, with those of others between them.
@Suite struct TurnTests {
    private static let request = "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let content = String(repeating: "a", count: 20_000)
    /// The content as a body in chunks of one byte.
    private static let chunks = content.map { "1\r\n\($0)\r\n" }.joined() + "0\r\n\r\n"

    @Test func `a connection that pipelines thousands of requests lets another one through between its turns`()
        async throws
    {
        let output = try CapturedOutput()
        let log = LogWriter(to: LogOutput(descriptor: output.descriptor), format: .text) {
            LogClock(now: WallTime(millisecondsSince1970: 0), bootNow: .now)
        }
        var setup = Rig.Setup()
        setup.accessLog = log
        try await withRig(setup) { rig in
            // Given a connection whose reads have become large
            let (flooding, other) = (try await rig.caller(), try await rig.caller())
            async let sent: Void = flooding.send(String(repeating: Self.request, count: 5_000))
            for _ in 1...5_000 { _ = try await flooding.answer() }
            try await sent
            // When the event loop finds at once many of its requests, and one of another connection
            let loop = try await rig.stall {
                try await rig.caller().send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            }
            defer { loop.goOn() }
            try await flooding.send(String(repeating: Self.request, count: 1_700))
            try await other.send("DELETE /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            loop.goOn()
            #expect(try await other.answer().head.status == 404)
            for _ in 1...1_700 { _ = try await flooding.answer() }
        }
        // Then that one is answered before most of them
        #expect(await log.close(within: patience))
        let later = output.lines.drop { !$0.contains("DELETE") }.count { $0.contains("GET") }
        #expect(later > 1_000)
    }

    @Test(arguments: [true, false])
    func `a body of thousands of chunks arrives whole, turn by turn`(up: Bool) async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            let head = try await upstream.head()
            async let sent: Void = caller.send(up ? Self.chunks : "0\r\n\r\n")
            #expect(String(buffer: try await upstream.body(of: head)) == (up ? Self.content : ""))
            try await sent
            async let answered: Void = upstream.send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + (up ? "0\r\n\r\n" : Self.chunks)
            )
            #expect(try await caller.answer().body == (up ? "" : Self.content))
            try await answered
            // The connections serve the next request.
            try await caller.send("GET /acme/next HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await upstream.head().request == "GET /v2/next")
        }
    }

    @Test func `a response of thousands of chunks is whole, although its upstream closes right behind it`()
        async throws
    {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            let sent = Task {
                try await upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + Self.chunks)
                upstream.close()
            }
            #expect(try await caller.answer().body == Self.content)
            try await sent.value
        }
    }

    @Test func `a turn ends after 32 heads, or 1,024 pieces of bodies`() {
        var (heads, pieces) = (Turn(), Turn())
        for _ in 1..<32 { heads.tookHead() }
        for _ in 1..<1_024 { pieces.tookPiece() }
        #expect(!heads.isOver && !pieces.isOver)
        heads.tookHead()
        pieces.tookPiece()
        #expect(heads.isOver && pieces.isOver)
    }
}
