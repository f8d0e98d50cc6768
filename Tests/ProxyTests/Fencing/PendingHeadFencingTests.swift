import NIOCore
import Proxy
import Telemetry
import Testing
import TokenModel

/// A kill while a head was flushed, but waits in this process behind a body that the upstream has answered without
/// reading it.
@Suite struct PendingHeadFencingTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// What a narrow upstream leaves here depends on the machine, so bodies of many sizes are tried; of larger ones
    /// not all is taken, and their connections are not used again.
    private static let sizes = stride(from: 16_000, through: 240_000, by: 4_000)

    /// Has a request behind a body of `size` bytes, and runs `test` with it; `nil` where the body was not taken whole.
    private func behind<Result>(
        _ size: Int,
        _ rig: Rig,
        _ test: (_ caller: Peer, _ upstream: Peer) async throws -> Result
    ) async throws -> Result? {
        let caller = try await rig.caller()
        defer { caller.close() }
        let body = String(repeating: "b", count: size)
        async let sent: Void = caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\n\(body.framed(false))")
        let upstream = try await rig.upstream.accept()
        defer { upstream.close() }
        for _ in 1...6 { try await rig.settle() }
        try await upstream.send(Self.ok)
        let head = try await caller.head()
        guard head["Connection"] == nil else {
            try? await sent
            return nil
        }
        try await sent
        _ = try await caller.bytes(2)
        try await caller.send("GET /acme/late HTTP/1.1\r\nHost: a\r\n\r\n")
        try await rig.settle()
        return try await test(caller, upstream)
    }

    @Test func `I3_ a head that the kernel has not taken never leaves, though those that it has may end`() async throws
    {
        try await withRig(Rig.Setup(isNarrow: true, pass: nil)) { rig in
            var pending = 0
            for (size, number) in zip(Self.sizes, 1...) {
                let epoch = UInt64(number)
                rig.install(.sample(epoch, stamp: Epoch(epoch - 1)))
                let isPending = try await self.behind(size, rig) { caller, upstream in
                    let fenced = await rig.server.fence(.kill(at: epoch, holds: false), .drain)
                    guard fenced == FencedExchanges(closed: 1) else {
                        // Or the upstream's end would have it sent again.
                        _ = await rig.server.fence(.kill(at: epoch, holds: false), .abort)
                        return false
                    }
                    let answer = try await caller.answer()
                    #expect(answer.head.status == 503)
                    let rest = try await upstream.rest().bytes
                    #expect(!String(buffer: rest).contains("/late"))
                    return true
                }
                if isPending == true { pending += 1 }
            }
            #expect(pending > 0)
        }
    }

    @Test func `I3_ no more does one that was answered before it left`() async throws {
        try await withRig(Rig.Setup(isNarrow: true, pass: nil)) { rig in
            var pending = 0
            for (size, number) in zip(Self.sizes, 1...) {
                let epoch = UInt64(number)
                rig.install(.sample(epoch, stamp: Epoch(epoch - 1)))
                let isPending = try await self.behind(size, rig) { caller, upstream in
                    try await upstream.send(Self.ok)
                    #expect(try await caller.answer().body == "ok")
                    #expect(await rig.server.fence(.kill(at: epoch, holds: false), .drain) == FencedExchanges())
                    guard await rig.server.traffic().upstreamConnections == 0 else { return false }
                    #expect(!String(buffer: try await upstream.rest().bytes).contains("/late"))
                    return true
                }
                if isPending == true { pending += 1 }
                try await eventually("the connection to be gone") {
                    await rig.server.traffic().upstreamConnections == 0
                }
            }
            #expect(pending > 0)
        }
    }
}
