import NIOCore
import Proxy
import Testing

@Suite struct SlowBodyTests {
    /// Bodies must arrive at 10,000 bytes a second after half a second.
    private static let timeouts = CallerTimeouts(bodyRate: 10_000, bodyGrace: .milliseconds(500))

    /// Sends `piece` ten times a second, until the connection is gone or the task is cancelled.
    private func drip(_ caller: Peer, _ piece: String) -> Task<Void, Never> {
        Task {
            while !Task.isCancelled, (try? await caller.send(piece)) != nil {
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    @Test(arguments: [("Content-Length: 1000000", "a"), ("Transfer-Encoding: chunked", "1\r\na\r\n")])
    func `a body that drips gets 408, and its upstream connection ends`(
        framing: String,
        piece: String
    ) async throws {
        try await withRig(Rig.Setup(callerTimeouts: Self.timeouts)) { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\n\(framing)\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            let dripping = self.drip(caller, piece)
            let answer = try await caller.answer()
            #expect(answer.head.status == 408)
            #expect(answer.head["Connection"] == "close")
            #expect(answer.body.contains("body_timeout"))
            #expect(answer.body.contains("\"detail\":\"the request's body came too slowly; see limits.body_rate\""))
            _ = try await upstream.rest()
            dripping.cancel()
            await dripping.value
        }
    }

    @Test func `a body that the upstream does not take may stand still`() async throws {
        try await withRig(Rig.Setup(callerTimeouts: Self.timeouts)) { rig in
            let caller = try await rig.caller()
            let size = 64 << 20
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            let piece = ByteBuffer(repeating: 0x61, count: 128 << 10)
            let taken = try await caller.sendUntilStalled(piece, limit: size)
            // This is far longer than the gateway tolerates a body that drips.
            for _ in 1...12 { try await Task.sleep(for: CoarseTime.period) }
            #expect(try await upstream.bytes(taken).readableBytes == taken)
            _ = try await upstream.bytes(piece.readableBytes)
        }
    }

    @Test func `a request that waits for a credential is not subject to the body rate`() async throws {
        try await withRig(Rig.Setup(callerTimeouts: Self.timeouts, credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na")
            let question = try await rig.credentials.questions.next("question")
            for _ in 1...6 { try await Task.sleep(for: CoarseTime.period) }
            rig.install(.sample())
            question.answer(.success(.sample()))
            try await caller.send("b")
            #expect(try await rig.upstream.accept().request().body == "ab")
        }
    }
}
