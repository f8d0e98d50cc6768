import NIOCore
import Proxy
import TestKit
import Testing
import TokenModel

@Suite struct ReplayMemoryTests {
    private static let dead = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\ndead"

    private func setup(_ memory: Int, credential: UpstreamCredential? = .sample()) -> Rig.Setup {
        var setup = Rig.Setup(credential: credential)
        setup.limits = { $0.replayMemory = memory }
        return setup
    }

    /// A caller whose body of `count` bytes has reached the upstream, and the upstream's connection.
    private func uploaded(_ count: Int, _ rig: Rig) async throws -> (caller: Peer, upstream: Peer) {
        let caller = try await rig.caller()
        let body = String(repeating: "b", count: count)
        try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\n\(body.framed(false))")
        let upstream = try await rig.upstream.accept()
        _ = try await upstream.request()
        return (caller, upstream)
    }

    @Test func `a body that finds no memory is not replayed, until another body has given back its memory`()
        async throws
    {
        try await withRig(self.setup(15_000)) { rig in
            let (first, firstUpstream) = try await self.uploaded(10_000, rig)
            let (second, secondUpstream) = try await self.uploaded(10_000, rig)
            // The second caller's 401 is passed on, because its body was dropped.
            try await secondUpstream.send(Self.dead)
            #expect(try await second.answer().head.status == 401)
            try await firstUpstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try await first.answer().head.status == 200)
            let question = try await rig.credentials.questions.next("question in the background")

            try await second.send(
                "POST /acme/again HTTP/1.1\r\nHost: a\r\n\(String(repeating: "c", count: 10_000).framed(false))"
            )
            _ = try await firstUpstream.request()
            rig.install(.sample(2))
            question.answer(.success(.sample(2)))
            try await firstUpstream.send(Self.dead)
            let replay = try await firstUpstream.request()
            #expect(replay.head["Authorization"] == "Bearer token-2")
            #expect(replay.body == String(repeating: "c", count: 10_000))
        }
    }

    @Test func `I18_ parked requests keep no more of their bodies than there is memory, and lose none of it`()
        async throws
    {
        try await withRig(self.setup(20_000, credential: nil)) { rig in
            let body = String(repeating: "b", count: 60_000)
            var callers: [Peer] = []
            for _ in 1...4 {
                let caller = try await rig.caller()
                try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\n\(body.framed(false))")
                callers.append(caller)
            }
            let question = try await rig.credentials.questions.next("question")
            try await rig.settle()
            // Each request may have taken one read beyond the limit.
            #expect(rig.server.keptBytes <= 20_000 + 4 * 16_384)
            #expect(rig.server.keptBytes >= 20_000)
            rig.install(.sample())
            question.answer(.success(.sample()))
            for _ in callers { #expect(try await rig.upstream.accept().request().body == body) }
        }
    }

    @Test func `a body that must be complete before it is sent gets 503 if there is no memory`() async throws {
        try await withRig(self.setup(1_000)) { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")
            #expect(try await caller.answer().head.status == 200)
            try await caller.send(
                "POST /acme/ HTTP/1.1\r\nHost: a\r\n\(String(repeating: "b", count: 2_000).framed(true))"
            )
            let answer = try await caller.answer()
            #expect(answer.head.status == 503)
            #expect(answer.body.contains("overloaded"))
            #expect(answer.head["Retry-After"] == "1")
            #expect(rig.server.keptBytes == 0)
        }
    }

    @Test(arguments: ["answered", "gone", "refused"])
    func `however a request ends, it gives back its memory`(end: String) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await self.uploaded(10_000, rig)
            #expect(rig.server.keptBytes == 10_000)
            switch end {
            case "answered": try await upstream.send("HTTP/1.1 204 No Content\r\n\r\n")
            case "gone": try await caller.reset()
            default: upstream.close()
            }
            try await eventually("the memory to be given back") { rig.server.keptBytes == 0 }
        }
    }
}
