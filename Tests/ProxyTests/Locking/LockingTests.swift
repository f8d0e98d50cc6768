import NIOCore
import Proxy
import Telemetry
import TestKit
import Testing
import TextCoding
import TokenModel

/// The lock while requests are in progress, over real sockets.
@Suite struct LockingTests {
    private static let get = "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let refused =
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n"

    private func expectLocked(_ caller: Peer) async throws {
        let (head, body) = try await caller.answer()
        #expect(head.status == 503)
        #expect(head["Retry-After"] == "30")
        #expect(body.contains("urn:martlet:error:locked"))
        #expect(body.contains("\"account\":\"alice\",\"route\":\"acme\""))
    }

    /// Unlocks the event loop. If it got a request at once, it would handle that first.
    private func unlock(_ rig: Rig) async throws {
        rig.server.unlock()
        try await rig.settle()
    }

    @Test func `requests that wait for a credential are told of the lock, and a late credential reaches none`()
        async throws
    {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            var callers: [Peer] = []
            for _ in 1...3 {
                let caller = try await rig.caller()
                try await caller.send(Self.get)
                callers.append(caller)
            }
            let question = try await rig.credentials.questions.next("question")
            try await eventually("all to wait") { rig.server.waiterCount == 3 }

            #expect(await rig.server.lock() == 0)

            for caller in callers { try await self.expectLocked(caller) }
            #expect(rig.server.waiterCount == 0)
            rig.server.apply(.installed(.sample()))
            question.answer(.success(.sample()))
            // A request that comes now asks nobody.
            try await callers[0].send(Self.get)
            try await self.expectLocked(callers[0])
            #expect(rig.credentials.asked == 1)
            #expect(rig.upstream.connections == 0)
        }
    }

    @Test func `an answer from before the lock does not reach a request that waits after it`() async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            let old = try await rig.credentials.questions.next("question")
            await rig.server.lock()
            try await self.expectLocked(caller)
            try await self.unlock(rig)
            try await caller.send(Self.get)
            let new = try await rig.credentials.questions.next("another question")

            old.answer(.failure(.locked))
            try await rig.settle()
            rig.install(.sample())
            new.answer(.success(.sample()))

            #expect(try await rig.upstream.accept().head()["Authorization"] == "Bearer token-1")
        }
    }

    @Test func `a request whose connection is being made is told of the lock`() async throws {
        let directory = try TemporaryDirectory()
        try directory.write(Array(TestCertificates.selfSigned.utf8), to: "ca.pem")
        let tls = try UpstreamTLS(.init(certificateAuthorities: directory.path(of: "ca.pem")))
        // Given an upstream that accepts connections and never answers a handshake
        try await withRig(Rig.Setup.route { $0.upstream.tls = tls }) { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            _ = try await rig.upstream.accept()

            #expect(await rig.server.lock() == 0)

            try await self.expectLocked(caller)
        }
    }

    @Test func `a request in the queue for a connection is told of the lock, and the one ahead of it finishes`()
        async throws
    {
        try await withRig(Rig.Setup.route { $0.maxConnections = 1 }) { rig in
            let (first, upstream) = try await rig.begun()
            let second = try await rig.caller()
            try await second.send(Self.get)
            try await rig.settle()

            #expect(await rig.server.lock() == 1)

            try await self.expectLocked(second)
            try await upstream.send(Self.ok)
            #expect(try await first.answer().body == "ok")
            #expect(try await upstream.ending() == .clean)
        }
    }

    @Test func `an upload whose head has left finishes, and the next request of its caller is told of the lock`()
        async throws
    {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun(
                "POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello"
            )
            _ = try await upstream.bytes(5)

            #expect(await rig.server.lock() == 1)

            try await caller.send("world")
            #expect(String(buffer: try await upstream.bytes(5)) == "world")
            try await upstream.send(Self.ok)
            #expect(try await caller.answer().body == "ok")
            try await caller.send(Self.get)
            try await self.expectLocked(caller)
            #expect(await rig.server.requestCount() == 0)
        }
    }

    @Test func `a response in progress finishes`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
            #expect(try await caller.head().status == 200)

            #expect(await rig.server.lock() == 1)

            try await upstream.send("k")
            #expect(String(buffer: try await caller.bytes(2)) == "ok")
        }
    }

    @Test func `a tunnel stays`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun(Handshake.request())
            try await upstream.send(Handshake.accepted)
            #expect(try await caller.head().status == 101)

            #expect(await rig.server.lock() == 1)

            try await caller.send("ping")
            #expect(String(buffer: try await upstream.bytes(4)) == "ping")
            try await upstream.send("pong")
            #expect(String(buffer: try await caller.bytes(4)) == "pong")
        }
    }

    @Test func `a request whose body is being collected is told of the lock`() async throws {
        try await withRig(Rig.Setup.route { $0.replayBodyLimit = 1 << 20 }) { rig in
            // Given an HTTP/1.0 upstream
            let (first, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try await first.answer().body == "ok")
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            try await rig.settle()

            #expect(await rig.server.lock() == 0)

            try await self.expectLocked(caller)
        }
    }

    @Test(arguments: [true, false])
    func `a request whose token is refused, before the lock or after it, gets no other`(isBefore: Bool) async throws {
        try await withRig { rig in
            rig.credentials.hold(nil, for: Rig.account)
            let (caller, upstream) = try await rig.begun()
            if isBefore {
                try await upstream.send(Self.refused)
                _ = try await rig.credentials.questions.next("question")
            }

            #expect(await rig.server.lock() == (isBefore ? 0 : 1))

            if !isBefore { try await upstream.send(Self.refused) }
            try await self.expectLocked(caller)
            #expect(rig.credentials.asked == (isBefore ? 1 : 0))
        }
    }

    @Test func `a request whose connection is lost is not sent again`() async throws {
        try await withRig { rig in
            // Given a connection that has served a request, so that the next one may be repeated
            let (caller, upstream) = try await rig.begun()
            try await upstream.send(Self.ok)
            _ = try await caller.answer()
            try await caller.send(Self.get)
            _ = try await upstream.head()

            #expect(await rig.server.lock() == 1)
            upstream.close()

            try await self.expectLocked(caller)
        }
    }

    @Test func `idle upstream connections close, and so does one that becomes idle later`() async throws {
        try await withRig { rig in
            let (busyCaller, busy) = try await rig.begun()
            let (caller, idle) = try await rig.begun()
            try await idle.send(Self.ok)
            _ = try await caller.answer()

            await rig.server.lock()

            #expect(try await idle.ending() == .clean)
            try await busy.send(Self.ok)
            #expect(try await busyCaller.answer().body == "ok")
            #expect(try await busy.ending() == .clean)
            #expect(await rig.server.traffic().upstreamConnections == 0)
        }
    }

    @Test(arguments: [false, true])
    func `a gateway that was locked, or started so, serves again once it is unlocked`(startsLocked: Bool) async throws {
        try await withRig(Rig.Setup(isLocked: startsLocked)) { rig in
            if !startsLocked { await rig.server.lock() }
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            try await self.expectLocked(caller)

            try await self.unlock(rig)
            rig.install(.sample(2))
            try await rig.settle()
            try await caller.send(Self.get)

            #expect(try await rig.upstream.accept().head()["Authorization"] == "Bearer token-2")
            #expect(rig.credentials.asked == 0)
        }
    }

    @Test func `a reload while locked leaves the gateway locked, for new accounts too`() async throws {
        let bob = AccountID("bob")
        try await withRig { rig in
            rig.server.apply(.installed(.sample(7, account: bob)))
            await rig.server.lock()
            rig.server.apply(.installed(.sample(8, account: bob)))
            let setup = Rig.Setup(routes: { port in
                [
                    .sample(port: port),
                    .sample(port: port) { plan in
                        plan.name = "bob"
                        plan.path = "/bob/"
                        plan.account = .fixed(bob)
                    },
                ]
            })

            _ = await rig.server.reload(
                ProxyConfiguration(listeners: [], routes: Rig.routes(setup, rig.upstream.port), eventLoops: 1)
            )

            let caller = try await rig.caller()
            try await caller.send(Self.get)
            try await self.expectLocked(caller)
            try await caller.send("GET /bob/ HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await caller.answer().body.contains("urn:martlet:error:locked"))
            // After the unlock the routes of the reload are there.
            try await self.unlock(rig)
            rig.install(.sample(9, account: bob))
            try await rig.settle()
            try await caller.send("GET /bob/ HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await rig.upstream.accept().head()["Authorization"] == "Bearer token-9")
        }
    }

    @Test func `a second lock, and one after a shutdown, find nothing`() async throws {
        try await withRig { rig in
            #expect(await rig.server.lock() == 0)
            #expect(await rig.server.lock() == 0)
            _ = await rig.server.shutDown(grace: .zero)
            #expect(await rig.server.lock() == 0)
        }
    }

    @Test func `a refused request counts for its route and account`() async throws {
        try await withRig(Rig.Setup(isLocked: true)) { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            try await self.expectLocked(caller)
            #expect(await rig.server.traffic().routes[1][.serverError] == 1)
        }
    }
}
