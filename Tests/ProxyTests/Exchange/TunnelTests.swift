import NIOCore
import Proxy
import Telemetry
import TestKit
import Testing
import TokenModel

@Suite struct TunnelTests {
    /// Opens a tunnel, up to the 101 that the caller gets.
    private func tunnel(_ rig: Rig, receiveBuffer: Int? = nil) async throws -> (caller: Peer, upstream: Peer) {
        let caller = try await rig.caller(receiveBuffer: receiveBuffer)
        try await caller.send(Handshake.request())
        let upstream = try await rig.upstream.accept()
        _ = try await upstream.head()
        try await upstream.send(Handshake.accepted)
        #expect(try await caller.head().status == 101)
        return (caller, upstream)
    }

    @Test func `I8_ a handshake goes upstream with the token, and bytes go both ways after its 101`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(Handshake.request("chat?a", "Authorization: Bearer mine\r\n"))
            let upstream = try await rig.upstream.accept()
            let head = try await upstream.head()
            #expect(head.request == "GET /v2/chat?a")
            #expect(head["Authorization"] == "Bearer token-1")
            #expect(head["Connection"] == "Upgrade")
            #expect(head["Upgrade"] == "websocket")
            #expect(head["Sec-WebSocket-Key"] == "a2V5")
            try await upstream.send(Handshake.accepted)
            let answer = try await caller.head()
            #expect(answer.startLine == "HTTP/1.1 101 Switching Protocols")
            #expect(answer["Connection"] == "Upgrade")
            #expect(answer["Upgrade"] == "websocket")
            #expect(answer["Sec-WebSocket-Accept"] == "eWVz")
            for round in 1...3 {
                try await caller.send("\u{1}ping\(round)\r\n")
                #expect(try await upstream.line() == "\u{1}ping\(round)")
                try await upstream.send("HTTP/1.1 200 OK\r\n")
                #expect(try await caller.line() == "HTTP/1.1 200 OK")
            }
            #expect(try await rig.credentials.accepted.next("acceptance") == TokenVersion(.sample(1)))
        }
    }

    @Test func `bytes that either side sends early are not lost`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(Handshake.request() + "early from the caller")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send(Handshake.accepted + "early from the upstream")
            #expect(try await caller.head().status == 101)
            #expect(String(buffer: try await caller.bytes(23)) == "early from the upstream")
            #expect(String(buffer: try await upstream.bytes(21)) == "early from the caller")
        }
    }

    @Test func `more bytes than the gateway keeps may be in transit before the 101`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            let early = String(repeating: "early ", count: 100_000)
            try await caller.send(Handshake.request())
            async let sent: Void = caller.send(early)
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await rig.settle()
            try await upstream.send(Handshake.accepted)
            #expect(try await caller.head().status == 101)
            #expect(String(buffer: try await upstream.bytes(early.utf8.count)) == early)
            try await sent
        }
    }

    @Test(arguments: [
        "HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n",
        "HTTP/1.1 200 OK\r\n",
    ])
    func `a refused upgrade is a response like any other, and early bytes are not forwarded`(
        answer: String
    ) async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(Handshake.request() + "\u{1}early\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send(answer + "Content-Length: 2\r\n\r\nno")
            let (head, body) = try await caller.answer()
            #expect([426, 200].contains(head.status))
            #expect(head["Upgrade"] == (head.status == 426 ? "websocket" : nil))
            #expect(body == "no")
            // The early bytes are no valid request.
            #expect(try await caller.answer().head.status == 400)
            try await upstream.finish()
            #expect(try await upstream.ending() == .clean)
        }
    }

    @Test(arguments: [
        ("Connection: Upgrade\r\nUpgrade: websocket\r\n", "Upgrade: h2c\r\nConnection: Upgrade\r\n"),
        ("Connection: Upgrade\r\nUpgrade: websocket\r\n", ""),
        ("Connection: Upgrade\r\nUpgrade: h2c\r\n", "Upgrade: h2c\r\nConnection: Upgrade\r\n"),
        ("", "Upgrade: websocket\r\nConnection: Upgrade\r\n"),
    ])
    func `a 101 that does not match the request becomes a 502`(asked: String, answered: String) async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\(asked)\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 101 Switching Protocols\r\n\(answered)\r\n")
            let answer = try await caller.answer()
            #expect(answer.head.status == 502)
            #expect(answer.body.contains("upstream_invalid"))
            _ = try await upstream.ending()
        }
    }

    @Test func `I11_ a handshake with a dead token is repeated with a fresh token`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(Handshake.request() + "early")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\ndead")
            let question = try await rig.credentials.questions.next("question")
            rig.install(.sample(2))
            question.answer(.success(.sample(2)))
            let replay = try await upstream.head()
            #expect(replay["Authorization"] == "Bearer token-2")
            #expect(replay["Upgrade"] == "websocket")
            try await upstream.send(Handshake.accepted)
            #expect(try await caller.head().status == 101)
            #expect(String(buffer: try await upstream.bytes(5)) == "early")
            caller.close()
            _ = try await upstream.ending()
            upstream.close()
            try await eventually("the tunnel to be counted") {
                let route = await rig.server.traffic().routes[1]
                return route[StatusClass.switched] == 1 && route[ReplayOutcome.answered] == 1
            }
        }
    }

    @Test func `the caller's end is passed on, and the upstream may go on`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await self.tunnel(rig)
            try await caller.send("last words")
            try await caller.finish()
            let (bytes, ending) = try await upstream.rest()
            #expect(String(buffer: bytes) == "last words")
            #expect(ending == .clean)
            try await upstream.send("answer")
            #expect(String(buffer: try await caller.bytes(6)) == "answer")
            try await upstream.finish()
            #expect(try await caller.ending() == .clean)
        }
    }

    @Test func `the upstream's end is passed on, and the caller may go on`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await self.tunnel(rig)
            try await upstream.send("last words")
            try await upstream.finish()
            let (bytes, ending) = try await caller.rest()
            #expect(String(buffer: bytes) == "last words")
            #expect(ending == .clean)
            try await caller.send("answer")
            #expect(String(buffer: try await upstream.bytes(6)) == "answer")
            try await caller.finish()
            #expect(try await upstream.ending() == .clean)
        }
    }

    @Test(arguments: [true, false])
    func `bytes in transit when both sides have ended still arrive`(callerFirst: Bool) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await self.tunnel(rig, receiveBuffer: 64 << 10)
            let (first, second) = callerFirst ? (caller, upstream) : (upstream, caller)
            let flood = ByteBuffer(repeating: 0x61, count: 3 << 20)
            try await first.finish()
            _ = try await second.ending()
            async let sent: Void = second.send(flood)
            #expect(try await first.bytes(flood.readableBytes / 2).readableBytes == flood.readableBytes / 2)
            try await sent
            try await second.finish()
            let (rest, ending) = try await first.rest()
            #expect(rest.readableBytes == flood.readableBytes / 2)
            #expect(ending == .clean)
        }
    }

    @Test func `a reset by one side resets the other, so that its data does not look complete`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await self.tunnel(rig)
            try await upstream.reset()
            #expect(try await caller.ending() == .reset)
            let (other, next) = try await self.tunnel(rig)
            try await other.reset()
            #expect(try await next.ending() == .reset)
        }
    }

    @Test func `bytes in either direction keep a tunnel open, and silence ends it`() async throws {
        try await withRig(.route { $0.timeouts.idle = .seconds(4) }.frozen) { rig in
            let (caller, upstream) = try await self.tunnel(rig)
            for (from, to) in [(caller, upstream), (upstream, caller)] {
                for _ in 1...3 {
                    try await from.send("a")
                    _ = try await to.bytes(1)
                    try await rig.pass(.seconds(3))
                }
            }
            try await rig.pass(.seconds(2))
            #expect(try await caller.ending() == .reset)
            #expect(try await upstream.ending() == .reset)
        }
    }

    @Test func `a tunnel gives up its place in the pool, and still counts as a connection`() async throws {
        try await withRig(.route { $0.maxConnections = 1 }) { rig in
            let (caller, upstream) = try await self.tunnel(rig)
            let (another, other) = try await self.tunnel(rig)
            let plain = try await rig.caller()
            try await plain.send("GET /acme/plain HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await rig.upstream.accept().head().request == "GET /v2/plain")
            #expect(await rig.server.traffic().upstreamConnections == 3)
            try await caller.send("still there")
            #expect(String(buffer: try await upstream.bytes(11)) == "still there")
            another.close()
            other.close()
            try await eventually("one less") { await rig.server.traffic().upstreamConnections == 2 }
        }
    }

    @Test func `draining gives tunnels their grace period, then cuts them`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await self.tunnel(rig)
            let idle = try await rig.caller()
            try await rig.settle()
            let stopping = Task { await rig.server.shutDown(grace: patience) }
            #expect(try await idle.ending() == .clean)
            try await caller.send("hello")
            #expect(String(buffer: try await upstream.bytes(5)) == "hello")
            // This ends the period.
            stopping.cancel()
            #expect(await stopping.value == false)
            #expect(try await caller.ending() == .reset)
            #expect(try await upstream.ending() == .reset)
        }
    }

    @Test func `draining is over when the last tunnel ends`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await self.tunnel(rig)
            async let drained = rig.server.shutDown(grace: patience)
            try await caller.finish()
            #expect(try await upstream.ending() == .clean)
            try await upstream.finish()
            #expect(await drained)
        }
    }
}
