import NIOCore
import Proxy
import Testing
import TokenModel

/// A kill, or a purge, while stored responses are being sent, stored or waited for.
@Suite struct FencedCacheTests {
    private static let anew = UpstreamCredential.sample(2, observedEpoch: Epoch(1))

    private static func expectKilled(_ caller: Peer) async throws {
        let (head, body) = try await caller.answer()
        #expect(head.status == 503)
        #expect(body.contains("urn:martlet:error:killed"))
    }

    @Test(arguments: KillStreams.allCases)
    func `I3_ a stored body that is being sent is cut by a kill, or drains`(streams: KillStreams) async throws {
        try await withRig(.caching()) { rig in
            _ = try await rig.stored(Cached.response("max-age=60", body: LargeBody.text))
            let slow = try await Peer.connect(to: rig.port, isNarrow: true)
            try await slow.send(Cached.get())
            let head = try await slow.head()
            #expect(head.isHit)
            try await rig.settle()

            let fenced = await rig.server.fence(.kill(streams: streams))

            switch streams {
            case .abort:
                #expect(fenced == FencedExchanges(closed: 1))
                let (bytes, ending) = try await slow.rest()
                #expect(ending == .reset)
                #expect(bytes.readableBytes < LargeBody.text.utf8.count)
            case .drain:
                #expect(fenced == FencedExchanges(draining: 1))
                #expect(String(buffer: try await slow.body(of: head)) == LargeBody.text)
            }
        }
    }

    @Test func `I3_ a response that began before a kill and ends behind it is not stored`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.begun(Cached.get())
            try await upstream.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\n\r\nfi")
            let head = try await caller.head()
            // Given a kill that lets it end, and a new token of the same grant
            #expect(await rig.server.fence(.kill(holds: false, streams: .drain)) == FencedExchanges(draining: 1))
            rig.install(Self.anew)

            try await upstream.send("rst")
            #expect(String(buffer: try await caller.body(of: head)) == "first")

            #expect(try await caller.ask(answeredBy: Cached.second, from: upstream).body == "second")
            #expect(await rig.storedCount == 1)
        }
    }

    @Test func `I3_ those who wait for a response are refused by a kill`() async throws {
        try await withRig(.caching()) { rig in
            let (leader, upstream) = try await rig.begun(Cached.get())
            let waiters = [try await rig.asking(), try await rig.asking()]
            try await rig.settle()

            #expect(await rig.server.fence(.kill()) == FencedExchanges(closed: 1))

            for caller in [leader] + waiters { try await Self.expectKilled(caller) }
            #expect(try await upstream.ending() == .reset)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `those who wait ask with a new token if the kill allows one`() async throws {
        try await withRig(.caching()) { rig in
            rig.credentials.hold(nil, for: Rig.account)
            let (leader, _) = try await rig.begun(Cached.get())
            let waiter = try await rig.asking()
            try await rig.settle()

            _ = await rig.server.fence(.kill(holds: false))
            try await Self.expectKilled(leader)
            let question = try await rig.credentials.questions.next("question")
            rig.server.apply(.installed(Self.anew))
            question.answer(.success(Self.anew))

            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.request().head["Authorization"] == "Bearer token-2")
            try await upstream.send(Cached.second)
            #expect(try await waiter.answer().body == "second")
        }
    }

    @Test func `a response that is under way at a purge is not stored, and those who wait for it ask anew`()
        async throws
    {
        try await withRig(.caching()) { rig in
            let (leader, upstream) = try await rig.begun(Cached.get())
            let waiters = [try await rig.asking(), try await rig.asking()]
            try await rig.settle()

            #expect(await rig.server.purgeCaches(route: nil, account: nil, path: nil) == CachePurge())

            // One of the two asks, and the other waits for that.
            let other = try await rig.upstream.accept()
            _ = try await other.request()
            try await upstream.send(Cached.fresh)
            #expect(try await leader.answer().body == "first")
            #expect(await rig.storedCount == 0)
            try await other.send(Cached.second)
            for waiter in waiters { #expect(try await waiter.answer().body == "second") }
            #expect(try await leader.ask().body == "second")
            #expect(rig.upstream.connections == 2)
        }
    }

    @Test(
        arguments: [
            (nil, nil, nil, [true, true, true, true]), ("acme", nil, nil, [true, true, true, true]),
            ("other", nil, nil, [false, false, false, false]), (nil, Rig.account, nil, [true, true, true, true]),
            (nil, AccountID("bob"), nil, [false, false, false, false]),
            (nil, AccountID("nobody"), nil, [false, false, false, false]),
            (nil, nil, "/acme/a", [true, true, true, true]), (nil, nil, "/acme/a?", [false, true, false, false]),
            (nil, nil, "/acme/a/b", [false, false, true, false]), (nil, nil, "/acme/", [true, true, true, true]),
            ("acme", Rig.account, "/acme/ab", [false, false, false, true]),
        ] as [(String?, AccountID?, String?, [Bool])]
    )
    func `a purge removes what its route, account and path select`(
        route: String?,
        account: AccountID?,
        path: String?,
        areRemoved: [Bool]
    ) async throws {
        let targets = ["/acme/a", "/acme/a?b", "/acme/a/b", "/acme/ab"]
        let routes: (Int) -> [RouteConfiguration] = { port in
            [
                .sample(port: port) { $0.cache = CacheConfiguration() },
                .sample(port: port) { route in
                    route.name = "other"
                    route.path = "/other/"
                    route.account = .fixed(AccountID("bob"))
                    route.cache = CacheConfiguration()
                },
            ]
        }
        try await withRig(Rig.Setup(routes: routes)) { rig in
            let (caller, upstream) = try await rig.stored(for: Cached.get("/acme/a"))
            for target in targets.dropFirst() {
                _ = try await caller.ask(Cached.get(target), answeredBy: Cached.fresh, from: upstream)
            }

            let purge = await rig.server.purgeCaches(route: route, account: account, path: path)

            #expect(purge.entries == areRemoved.count { $0 })
            #expect((purge.bytes > 0) == areRemoved.contains(true))
            let serving = upstream.answersAll(with: Cached.second)
            defer { serving.cancel() }
            for (target, isRemoved) in zip(targets, areRemoved) {
                #expect(try await caller.ask(Cached.get(target)).head.isHit == !isRemoved)
            }
        }
    }
}
