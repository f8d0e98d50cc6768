import NIOCore
import Proxy
import Testing

@Suite struct SlowBodyTests {
    /// Bodies must arrive at 10,000 bytes a second after half a second.
    private static let timeouts = CallerTimeouts(bodyRate: 10_000, bodyGrace: .milliseconds(500))

    @Test(arguments: [("Content-Length: 1000000", "a"), ("Transfer-Encoding: chunked", "1\r\na\r\n")])
    func `a body that drips gets 408, and its upstream connection ends`(
        framing: String,
        piece: String
    ) async throws {
        try await withRig(Rig.Setup(callerTimeouts: Self.timeouts).frozen) { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\n\(framing)\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            for _ in 1...4 {
                try await caller.send(piece)
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
