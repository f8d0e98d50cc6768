import NIOCore
import Synchronization
import TestKit
import Testing

/// When written bytes leave: with everything else of their event loop tick, or at once.
@Suite struct FlushingTests {
    /// The bytes of a body that the upstream has received before. By then reads are as large as for a body that comes
    /// fast.
    private static let before = 512 << 10
    /// The number of written bytes that leave at once.
    private static let large = 16 << 10

    @Test(arguments: [(1 << 10, false), (64 << 10, true)])
    func `a small piece waits for the end of its tick, and a large piece does not`(
        size: Int,
        isLarge: Bool
    ) async throws {
        try await withRig { rig in
            // Given a body in progress, two idle connections, and an event loop that is stalled by a request on one of
            // them
            let (caller, upstream) = try await rig.begun(
                "POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: \(Self.before + size)\r\n\r\n"
            )
            async let sent: Void = caller.send(ByteBuffer(repeating: 0x61, count: Self.before))
            _ = try await upstream.bytes(Self.before)
            try await sent
            let others = [try await rig.begun(), try await rig.begun()]
            for other in others {
                try await other.upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                _ = try await other.caller.head()
            }
            let first = try await rig.stall {
                try await others[0].caller.send("GET /acme/1 HTTP/1.1\r\nHost: a\r\n\r\n")
            }
            defer { first.goOn() }

            // When its next tick has a piece of the body, and after it a request that stalls the loop again
            let second = StalledLoop()
            rig.credentials.whileUsing.withLock { $0 = { second.stand() } }
            defer {
                rig.credentials.whileUsing.withLock { $0 = nil }
                second.goOn()
            }
            rig.install(.sample(3))
            try await caller.send(ByteBuffer(repeating: 0x62, count: size))
            try await others[1].caller.send("GET /acme/2 HTTP/1.1\r\nHost: a\r\n\r\n")
            first.goOn()
            try await eventually("a loop that stands still again") { second.stands }

            // Then a large piece has left, and a small piece leaves when the tick is over
            if isLarge {
                _ = try await upstream.bytes(Self.large)
            } else {
                let hasUnread = try await upstream.hasUnread
                #expect(!hasUnread)
            }
            second.goOn()
            let rest = size - (isLarge ? Self.large : 0)
            let bytes = try await upstream.bytes(rest)
            #expect(bytes == ByteBuffer(repeating: 0x62, count: rest))
        }
    }
}
