import NIOCore
import Proxy
import Testing

@Suite struct SlowBodyTests {
    /// Bodies must arrive at 10,000 bytes a second after half a second.
    private static let timeouts = CallerTimeouts(bodyRate: 10_000, bodyGrace: .milliseconds(500))

    @Test func `a body of known length that drips gets 408, and its upstream connection ends`() async throws {
        try await withRig(Rig.Setup(callerTimeouts: Self.timeouts).frozen) { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            for _ in 1...4 {
                try await caller.send("a")
                try await rig.pass(CoarseTime.period)
            }
            try await rig.pass(.seconds(2))
            let answer = try await caller.answer()
            #expect(answer.head.status == 408)
            #expect(answer.head["Connection"] == "close")
            #expect(answer.body.contains("body_timeout"))
            #expect(answer.body.contains("\"detail\":\"the request's body came too slowly; see limits.body_rate\""))
            _ = try await upstream.rest()
        }
    }

    @Test func `a body without a length may come as slowly as it is made`() async throws {
        try await withRig(Rig.Setup(callerTimeouts: Self.timeouts).frozen) { rig in
            let (caller, upstream) = try await rig.begun(
                "POST /acme/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            for _ in 1...5 {
                try await rig.pass(.seconds(20))
                try await caller.send("1\r\na\r\n")
                #expect(try await upstream.line() == "1")
                #expect(try await upstream.line() == "a")
            }
            try await caller.send("0\r\n\r\n")
            #expect(try await upstream.line() == "0")
        }
    }

    @Test func `bodies without a length hold a quarter of the connections, and give them back`() async throws {
        var setup = Rig.Setup()
        setup.limits = { $0.connections = 8 }
        let begin = "POST /acme/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        try await withRig(setup) { rig in
            let (first, upstream) = try await rig.begun(begin)
            let (second, _) = try await rig.begun(begin)
            let third = try await rig.caller()
            try await third.send(begin)
            let answer = try await third.answer()
            #expect(answer.head.status == 503)
            #expect(answer.body.contains("send Content-Length"))

            try await first.send("0\r\n\r\n")
            #expect(try await upstream.line() == "0")
            _ = try await rig.begun(begin)
            second.close()
        }
    }

    @Test func `a caller's bodies without a length hold an eighth of the connections`() {
        let bodies = OpenBodies(16)
        #expect([bodies.enter("a"), bodies.enter("a"), bodies.enter("a")] == [true, true, false])
        #expect([bodies.enter("b"), bodies.enter("c"), bodies.enter("d")] == [true, true, false])
        bodies.leave("a")
        #expect([bodies.enter("a"), bodies.enter("a")] == [true, false])
    }

    @Test func `a body that the upstream does not take may stand still`() async throws {
        try await withRig(Rig.Setup(callerTimeouts: Self.timeouts).frozen) { rig in
            let caller = try await rig.caller()
            let size = 64 << 20
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            // Otherwise the gateway waits for that, and takes the body in the very seconds that pass below.
            try await upstream.send("HTTP/1.1 100 Continue\r\n\r\n")
            let piece = ByteBuffer(repeating: 0x61, count: 128 << 10)
            let taken = try await caller.sendUntilStalled(piece, limit: size)
            // This is far longer than the gateway tolerates a body that drips.
            try await rig.pass(.seconds(60))
            #expect(try await upstream.bytes(taken).readableBytes == taken)
            _ = try await upstream.bytes(piece.readableBytes)
        }
    }

    @Test func `a request that waits for a credential is not subject to the body rate`() async throws {
        try await withRig(Rig.Setup(callerTimeouts: Self.timeouts, credential: nil).frozen) { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na")
            let question = try await rig.credentials.questions.next("question")
            try await rig.pass(.seconds(10))
            rig.install(.sample())
            question.answer(.success(.sample()))
            try await caller.send("b")
            #expect(try await rig.upstream.accept().request().body == "ab")
        }
    }
}
