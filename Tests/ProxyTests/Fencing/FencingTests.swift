import NIOCore
import Proxy
import TestKit
import Testing
import TextCoding
import TokenModel

/// A kill while requests are in progress, over real sockets.
@Suite struct FencingTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let refused =
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 4\r\n\r\ndead"
    private static let closed = FencedExchanges(closed: 1)

    private func expectKilled(_ caller: Peer) async throws {
        let (head, body) = try await caller.answer()
        #expect(head.status == 503)
        #expect(body.contains("urn:martlet:error:killed"))
    }

    @Test(arguments: [
        ("1.1", "Content-Length: 1000000\r\n\r\npart of it"),
        ("1.1", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
        ("1.1", "Transfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n9\r\ndata: 1\n\n\r\n"),
        ("1.1", "\r\nuntil the end"),
        ("1.0", "\r\nuntil the end"),
    ])
    func `I3_ a response in progress is cut on both sides, and does not look complete`(
        version: String,
        answer: String
    ) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun("GET /acme/ HTTP/\(version)\r\nHost: a\r\n\r\n")
            try await upstream.send("HTTP/1.1 200 OK\r\n\(answer)")
            #expect(try await caller.head().status == 200)

            #expect(await rig.server.fence(.kill()) == Self.closed)

            #expect(try await caller.rest().ending == .reset)
            #expect(try await upstream.ending() == .reset)
            #expect(await rig.server.requestCount() == 0)
        }
    }

    @Test(arguments: KillStreams.allCases)
    func `I3_ an upload is cut and its caller gets 503, or the upload drains`(streams: KillStreams) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun(
                "POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello"
            )
            _ = try await upstream.bytes(5)

            let fenced = await rig.server.fence(.kill(streams: streams))

            switch streams {
            case .abort:
                #expect(fenced == Self.closed)
                try await self.expectKilled(caller)
                #expect(try await upstream.ending() == .reset)
            case .drain:
                #expect(fenced == FencedExchanges(draining: 1))
                try await caller.send("world")
                #expect(String(buffer: try await upstream.bytes(5)) == "world")
                try await upstream.send(Self.ok)
                #expect(try await caller.answer().body == "ok")
            }
        }
    }

    @Test(arguments: KillStreams.allCases)
    func `I3_ a tunnel is cut on both sides, or drains`(streams: KillStreams) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun(Handshake.request())
            try await upstream.send(Handshake.accepted)
            #expect(try await caller.head().status == 101)

            let fenced = await rig.server.fence(.kill(streams: streams))

            switch streams {
            case .abort:
                #expect(fenced == Self.closed)
                #expect(try await caller.ending() == .reset)
                #expect(try await upstream.ending() == .reset)
            case .drain:
                #expect(fenced == FencedExchanges(draining: 1))
                try await caller.send("ping")
                #expect(String(buffer: try await upstream.bytes(4)) == "ping")
            }
        }
    }

    @Test func `a caller that has nothing of a response yet gets 503, and keeps its connection`() async throws {
        try await withRig { rig in
            rig.credentials.hold(nil, for: Rig.account)
            let (caller, upstream) = try await rig.begun()
            #expect(await rig.server.fence(.kill()) == Self.closed)
            try await self.expectKilled(caller)
            #expect(try await upstream.ending() == .reset)
            // When the caller sends a request again, no token is left
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            try await rig.credentials.questions.next("question").answer(.failure(CredentialError(.killed, "killed")))
            try await self.expectKilled(caller)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `a response that is being inspected is discarded, and the caller gets 503`() async throws {
        let setup = Rig.Setup.route {
            $0.retryOn = [TokenRejectionSign(status: 200, body: .object(["error": .text("expired")]))]
        }
        try await withRig(setup) { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"error\":"
            )
            try await rig.settle()
            #expect(await rig.server.fence(.kill()) == Self.closed)
            try await self.expectKilled(caller)
            #expect(try await upstream.ending() == .reset)
        }
    }

    @Test(
        arguments: [
            (.all, [], true), (.account(Rig.account), [], true), (.provider(ProviderID("acme")), [], false),
            (.provider(ProviderID("acme")), [(Rig.account, ProviderID("acme"))], true),
            (.provider(ProviderID("acme")), [(Rig.account, ProviderID("other"))], false),
            (.account(AccountID("bob")), [], false),
        ] as [(KillScope, [(AccountID, ProviderID)], Bool)]
    )
    func `a caller that waits for an account gets 503 when the account is killed`(
        scope: KillScope,
        providers: [(AccountID, ProviderID)],
        isTold: Bool
    ) async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            var callers: [Peer] = []
            for _ in 1...3 {
                let caller = try await rig.caller()
                try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
                callers.append(caller)
            }
            let question = try await rig.credentials.questions.next("question")
            try await eventually("all to wait") { rig.server.waiterCount == 3 }

            #expect(await rig.server.fence(.kill(scope), providers: AccountMap(providers)) == FencedExchanges())

            #expect(rig.server.waiterCount == (isTold ? 0 : 3))
            guard isTold else { return }
            for caller in callers { try await self.expectKilled(caller) }
            // A later request asks anew, and the late answer to the first question reaches nobody.
            try await callers[0].send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let next = try await rig.credentials.questions.next("another question")
            next.answer(.failure(CredentialError(.killed, "killed")))
            try await self.expectKilled(callers[0])
            question.answer(.success(.sample()))
            try await rig.settle()
            #expect(rig.upstream.connections == 0)
        }
    }

    @Test func `a waiting caller gets no token from before the kill`() async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            // Given a kill that permits new tokens
            _ = await rig.server.fence(.kill(holds: false))
            #expect(rig.server.waiterCount == 1)
            rig.install(.sample(1))
            rig.credentials.hold(nil, for: Rig.account)
            question.answer(.success(.sample(1)))
            // Then the request asks again
            let next = try await rig.credentials.questions.next("another question")
            let credential = UpstreamCredential.sample(2, observedEpoch: Epoch(1))
            rig.install(credential)
            next.answer(.success(credential))
            #expect(try await rig.upstream.accept().head()["Authorization"] == "Bearer token-2")
        }
    }

    @Test func `a request whose body is being collected gets 503 when the account is killed`() async throws {
        try await withRig(Rig.Setup.route { $0.replayBodyLimit = 1 << 20 }) { rig in
            // Given an HTTP/1.0 upstream
            let (first, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try await first.answer().body == "ok")
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            try await rig.settle()

            #expect(await rig.server.fence(.kill()) == FencedExchanges())

            try await self.expectKilled(caller)
        }
    }

    @Test(arguments: [true, false])
    func `a response held for a new token is not passed on after a kill`(holds: Bool) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send(Self.refused.replacing("Content-Length: 4", with: "Content-Length: 5"))
            let question = try await rig.credentials.questions.next("question")

            #expect(await rig.server.fence(.kill(holds: holds)) == Self.closed)

            #expect(try await upstream.ending() == .reset)
            if holds {
                try await self.expectKilled(caller)
            } else {
                // The kill permits the next token.
                let credential = UpstreamCredential.sample(2, observedEpoch: Epoch(1))
                rig.install(credential)
                question.answer(.success(credential))
                let second = try await rig.upstream.accept()
                #expect(try await second.head()["Authorization"] == "Bearer token-2")
                try await second.send(Self.ok)
                #expect(try await caller.answer().body == "ok")
            }
        }
    }

    @Test func `an idle connection stays open, and carries the next token`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send(Self.ok)
            #expect(try await caller.answer().body == "ok")

            #expect(await rig.server.fence(.kill(holds: false)) == FencedExchanges())

            rig.install(.sample(2, observedEpoch: Epoch(1)))
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await upstream.head()["Authorization"] == "Bearer token-2")
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `the requests of another account go on`() async throws {
        let bob = AccountID("bob")
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
        try await withRig(setup) { rig in
            rig.install(.sample(7, account: bob, provider: ProviderID("other")))
            let (killed, cut) = try await rig.begun()
            let (caller, upstream) = try await rig.begun("GET /bob/ HTTP/1.1\r\nHost: a\r\n\r\n")
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")

            #expect(await rig.server.fence(.kill(.provider(ProviderID("acme")))) == Self.closed)

            #expect(try await cut.ending() == .reset)
            try await self.expectKilled(killed)
            try await upstream.send("k")
            #expect(try await caller.answer().body == "ok")
            try await caller.send("GET /bob/ HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await upstream.head()["Authorization"] == "Bearer token-7")
        }
    }

    @Test func `a credential with an old epoch that is announced late is not used`() async throws {
        try await withRig { rig in
            _ = await rig.server.fence(.kill(holds: false))
            rig.server.apply(.installed(.sample(2)))
            rig.credentials.hold(nil, for: Rig.account)
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            #expect(rig.upstream.connections == 0)
            let credential = UpstreamCredential.sample(3, observedEpoch: Epoch(1))
            rig.install(credential)
            question.answer(.success(credential))
            #expect(try await rig.upstream.accept().head()["Authorization"] == "Bearer token-3")
        }
    }

    @Test(arguments: [true, false])
    func `a route of a new configuration finds no dead credential`(isLate: Bool) async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let bob = AccountID("bob")
            if !isLate { rig.server.apply(.installed(.sample(7, account: bob))) }
            _ = await rig.server.fence(.kill())
            if isLate { rig.server.apply(.installed(.sample(7, account: bob))) }
            let routes = [RouteConfiguration.sample(port: rig.upstream.port) { $0.account = .fixed(bob) }]
            let setup = Rig.Setup(routes: { _ in routes })
            _ = await rig.server.reload(
                ProxyConfiguration(listeners: [], routes: Rig.routes(setup, rig.upstream.port), eventLoops: 1)
            )
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            #expect(question.account == bob)
            #expect(rig.upstream.connections == 0)
        }
    }

    @Test func `an exchange that was left to drain can be cut later`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na")
            #expect(try await caller.head().status == 200)
            #expect(await rig.server.fence(.kill(streams: .drain)) == FencedExchanges(draining: 1))
            try await upstream.send("b")
            #expect(String(buffer: try await caller.bytes(2)) == "ab")
            #expect(await rig.server.fence(.kill()) == Self.closed)
            #expect(try await caller.ending() == .reset)
            #expect(try await upstream.ending() == .reset)
        }
    }

    @Test func `an exchange that was left to drain goes on when others are cut`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na")
            #expect(try await caller.head().status == 200)
            var epochs = KillEpochs.kill(streams: .drain)
            _ = await rig.server.fence(epochs)
            epochs.raise(.account(AccountID("another")), at: Epoch(2), holds: true, streams: .abort)
            #expect(await rig.server.fence(epochs) == FencedExchanges(draining: 1))
            try await upstream.send("bc")
            #expect(String(buffer: try await caller.bytes(3)) == "abc")
        }
    }

    @Test func `an upload that the upstream does not read is left to drain once its head has left`() async throws {
        try await withRig(Rig.Setup(isNarrow: true)) { rig in
            let (caller, upstream) = try await rig.begun(
                "POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 67108864\r\n\r\n"
            )
            let piece = ByteBuffer(repeating: 0x61, count: 64 << 10)
            let taken = try await caller.sendUntilStalled(piece, limit: 64 << 20)
            #expect(await rig.server.fence(.kill(streams: .drain)) == FencedExchanges(draining: 1))
            #expect(try await upstream.bytes(taken).readableBytes == taken)
        }
    }

    @Test func `after a shutdown there is nothing to close`() async throws {
        try await withRig { rig in
            _ = await rig.server.shutDown(grace: .zero)
            #expect(await rig.server.fence(.kill()) == FencedExchanges())
        }
    }
}
