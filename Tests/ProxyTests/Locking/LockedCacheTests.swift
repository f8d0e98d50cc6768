import NIOCore
import Proxy
import Testing
import TokenModel

/// What was stored before a lock is not sent after it.
@Suite struct LockedCacheTests {
    private func expectLocked(_ caller: Peer) async throws {
        let (head, body) = try await caller.answer()
        #expect(head.status == 503)
        #expect(!head.isHit)
        #expect(body.contains("urn:martlet:error:locked"))
    }

    @Test func `a stored response is neither sent nor kept, and its account is asked for anew after the unlock`()
        async throws
    {
        try await withRig(.caching()) { rig in
            let (caller, _) = try await rig.stored()
            #expect(try await caller.ask().head.isHit)

            await rig.server.lock()

            #expect(await rig.storedCount == 0)
            try await caller.send(Cached.get())
            try await self.expectLocked(caller)
            // After the unlock, with the same credential
            rig.server.unlock()
            rig.install(.sample())
            try await rig.settle()
            try await caller.send(Cached.get())
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await upstream.send(Cached.second)
            #expect(try await caller.answer().body == "second")
            #expect(try await caller.ask().head.isHit)
        }
    }

    @Test func `a stale response does not stand in for the lock`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, _) = try await rig.stored(Cached.stale("stale-if-error=600"))
            // Given a request that may get the stale response if it fails, and waits for a token
            rig.credentials.hold(nil, for: Rig.account)
            rig.server.apply(.lapsed(Rig.account))
            try await rig.settle()
            try await caller.send(Cached.get())
            _ = try await rig.credentials.questions.next("question")

            #expect(await rig.server.lock() == 0)

            try await self.expectLocked(caller)
        }
    }

    @Test func `a response that finishes after the lock is not stored`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.begun(Cached.get())
            try await upstream.send(String(Cached.fresh.dropLast(3)))
            #expect(try await caller.head().status == 200)

            #expect(await rig.server.lock() == 1)
            // Not even under the same authorization
            rig.server.unlock()
            rig.install(.sample())
            try await rig.settle()
            try await upstream.send(String(Cached.fresh.suffix(3)))

            #expect(String(buffer: try await caller.bytes(5)) == "first")
            try await rig.settle()
            #expect(await rig.storedCount == 0)
        }
    }

    @Test func `requests that wait for the response to another one are told of the lock, and that one finishes`()
        async throws
    {
        try await withRig(.caching()) { rig in
            let (first, upstream) = try await rig.begun(Cached.get())
            let second = try await rig.asking()
            try await rig.settle()

            #expect(await rig.server.lock() == 1)

            try await self.expectLocked(second)
            try await upstream.send(Cached.fresh)
            #expect(try await first.answer().body == "first")
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `a stored body that is being sent is sent to its end`() async throws {
        try await withRig(.caching()) { rig in
            _ = try await rig.stored(Cached.response("max-age=60", body: LargeBody.text))
            let slow = try await Peer.connect(to: rig.port, isNarrow: true)
            try await slow.send(Cached.get())
            let head = try await slow.head()
            #expect(head.isHit)
            try await rig.settle()

            #expect(await rig.server.lock() == 1)

            #expect(String(buffer: try await slow.body(of: head)) == LargeBody.text)
        }
    }

    @Test func `a cache asks nothing on its own behalf any more`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Cached.stale("stale-while-revalidate=600"))
            // Given a revalidation in the background
            #expect(try await caller.ask().body == "first")
            _ = try await upstream.request()

            #expect(await rig.server.lock() == 0)

            #expect(try await upstream.ending() == .clean)
        }
    }
}
