import NIOCore
import Synchronization
import TestKit
import Testing

/// When what was written leaves: with all else of its tick, or at once.
@Suite struct FlushingTests {
    /// What the upstream has had of a body before: reads are as large by then as those of a body that comes fast.
    private static let before = 512 << 10
    /// As much as leaves at once.
    private static let large = 16 << 10

    @Test(arguments: [(1 << 10, false), (64 << 10, true)])
    func `a piece that is small waits for the end of its tick, and one that is large does not`(
        size: Int,
        isLarge: Bool
    ) async throws {
        try await withRig { rig in
            // Given a body under way, two idle connections, and a loop that stands still behind a request on one of them
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

            // When its next tick has a piece of the body, and behind that a request where it stands still again
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

            // Then what is large has left, and what is small leaves when the tick is over
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
