import NIOCore
import Proxy
import TestKit
import Testing

@Suite struct BackpressureTests {
    private static let size = 128 << 20
    private static let piece = ByteBuffer(repeating: 0x61, count: 128 << 10)
    /// An upper bound for the bytes in transit: the size of the kernel's buffers along the way. One that receives grows to
    /// 32 MiB by default (`tcp_rmem`), if its reader is slow for a moment and fast again.
    private static let slack = 64 << 20

    @Test(arguments: ["Content-Length: \(size)\r\n\r\n", "\r\n"])
    func `I18_ a caller that does not read stops a fast upstream, and loses nothing`(framing: String) async throws {
        try await withRig(Rig.Setup(sendBuffer: 64 << 10)) { rig in
            let caller = try await rig.caller(receiveBuffer: 64 << 10)
            try await caller.send("GET /acme/ HTTP/1.0\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 OK\r\n\(framing)")
            let taken = try await upstream.sendUntilStalled(Self.piece, limit: Self.size)
            #expect(taken < Self.slack)

            #expect(try await caller.head().status == 200)
            #expect(try await caller.bytes(taken).readableBytes == taken)
            // The transfer goes on.
            _ = try await caller.bytes(Self.piece.readableBytes)
        }
    }

    @Test func `I18_ an upstream that does not read stops a fast caller`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: \(Self.size)\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            let taken = try await caller.sendUntilStalled(Self.piece, limit: Self.size)
            #expect(taken < Self.slack)
            #expect(try await upstream.bytes(taken).readableBytes == taken)
            _ = try await upstream.bytes(Self.piece.readableBytes)
        }
    }

    @Test func `I18_ a caller that does not read its responses has no more requests taken`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller(receiveBuffer: 16 << 10, sendBuffer: 64 << 10)
            let request = "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n"
            let piece = ByteBuffer(string: String(repeating: request, count: 100))
            // The responses have ten times the size of the requests, and the kernel holds some megabytes of them.
            let taken = try await caller.sendUntilStalled(piece, limit: 12 << 20)
            #expect(taken < 8 << 20)
            // The caller gets the responses once it reads.
            for _ in 1...1_000 { #expect(try await caller.answer().head.status == 404) }
        }
    }

    @Test func `I18_ a caller that does not read the upstream's responses has no more requests taken`() async throws {
        try await withRig(Rig.Setup(sendBuffer: 64 << 10)) { rig in
            let caller = try await rig.caller(receiveBuffer: 16 << 10)
            let requests = String(repeating: "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n", count: 100_000)
            async let sent: Void? = try? caller.send(requests)
            let upstream = try await rig.upstream.accept()
            let answer = ByteBuffer(
                string: "HTTP/1.1 200 OK\r\nContent-Length: 8000\r\n\r\n\(String(repeating: "a", count: 8_000))"
            )
            // The upstream responds to each request at once. It stops getting requests.
            var (before, answered) = (0, 0)
            let got = Mailbox<Void>()
            let serving = Task {
                while (try? await upstream.head()) != nil {
                    try await upstream.send(answer)
                    got.put(())
                }
            }
            repeat {
                before = answered
                try? await eventually("", limit: .milliseconds(500)) { [before] in got.total > before }
                answered = got.total
            } while answered > before
            #expect(answered * 8_000 < Self.slack)
            serving.cancel()
            caller.close()
            _ = await sent
        }
    }
}
