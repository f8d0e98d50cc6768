import NIOCore
import Proxy
import TestKit
import Testing
import TokenModel

/// What was stored before a kill, the end of an authorization or of the lease is not sent afterwards.
@Suite struct KilledCacheTests {
    private static let killed = CredentialError(.killed, "killed")
    private static let anew = UpstreamCredential.sample(2, observedEpoch: Epoch(1))

    private static func expectKilled(_ caller: Peer) async throws {
        let (head, body) = try await caller.answer()
        #expect(head.status == 503)
        #expect(body.contains("urn:martlet:error:killed"))
    }

    @Test(arguments: [.all, .provider(ProviderID("acme")), .account(Rig.account)] as [KillScope], [true, false])
    func `I3_ after a kill nothing older comes from memory, with a new token neither`(
        scope: KillScope,
        holds: Bool
    ) async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored()
            rig.credentials.hold(nil, for: Rig.account)

            _ = await rig.server.fence(.kill(scope, holds: holds))
            try await caller.send(Cached.get())
            let question = try await rig.credentials.questions.next("question")
            guard !holds else {
                question.answer(.failure(Self.killed))
                return try await Self.expectKilled(caller)
            }
            // Given a new token of the same grant
            rig.server.apply(.installed(Self.anew))
            question.answer(.success(Self.anew))

            #expect(try await upstream.request().head["Authorization"] == "Bearer token-2")
            try await upstream.send(Cached.second)
            #expect(try await caller.answer().body == "second")
            // What is fetched with that token is stored again.
            _ = try await caller.ask(Cached.get("/acme/b"), answeredBy: Cached.fresh, from: upstream)
            #expect(try await caller.ask(Cached.get("/acme/b")).head.isHit)
        }
    }

    @Test(arguments: [.account(AccountID("bob")), .provider(ProviderID("other"))] as [KillScope])
    func `a kill of another account or provider leaves what is stored`(scope: KillScope) async throws {
        try await withRig(.caching()) { rig in
            let (caller, _) = try await rig.stored()
            _ = await rig.server.fence(.kill(scope))
            #expect(try await caller.ask().head.isHit)
        }
    }

    @Test func `I3_ a killed response is freed`() async throws {
        try await withRig(.caching()) { rig in
            _ = try await rig.stored()
            #expect(await rig.storedCount == 1)
            _ = await rig.server.fence(.kill())
            try await eventually("nothing to be stored") { await rig.storedCount == 0 }
        }
    }

    @Test(
        arguments: [
            .installed(.sample(2, grant: GrantID("grant-2"))), .installed(.sample(2, isGrantRefused: true)),
            .installed(.sample(1, isGrantRefused: true)), .dropped(Rig.account),
        ] as [CredentialEvent]
    )
    func `what an authorization has fetched is not sent after its end`(event: CredentialEvent) async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored()
            rig.credentials.hold(nil, for: Rig.account)

            rig.server.apply(event)
            try await rig.settle()
            try await caller.send(Cached.get())

            if case .dropped = event {
                try await rig.credentials.questions.next("question").answer(.failure(Self.killed))
                return try await Self.expectKilled(caller)
            }
            _ = try await upstream.request()
            try await upstream.send(Cached.second)
            #expect(try await caller.answer().body == "second")
        }
    }

    @Test func `what a refused grant fetches is not stored`() async throws {
        try await withRig(.caching()) { rig in
            rig.install(.sample(2, isGrantRefused: true))
            try await rig.settle()
            let (caller, upstream) = try await rig.stored()
            #expect(try await caller.ask(answeredBy: Cached.second, from: upstream).body == "second")
            #expect(await rig.storedCount == 0)
        }
    }

    @Test func `I6_ after the end of the lease nothing comes from memory, until the lease is renewed`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, _) = try await rig.stored()
            rig.credentials.hold(nil, for: Rig.account)
            rig.server.setLeaseDeadline(.now)
            try await rig.settle()
            try await caller.send(Cached.get())
            let question = try await rig.credentials.questions.next("question")
            question.answer(.failure(CredentialError(.storeLost, "out of reach")))
            let (head, body) = try await caller.answer()
            #expect(head.status == 503)
            #expect(body.contains("urn:martlet:error:store_lost"))

            rig.server.setLeaseDeadline(.now.advanced(by: patience))
            try await rig.settle()
            #expect(try await caller.ask().head.isHit)
        }
    }

    @Test func `I6_ a confirmation that comes after the end of the lease is good for its own request only`()
        async throws
    {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Cached.stale())
            try await caller.send(Cached.get())
            _ = try await upstream.request()
            rig.server.setLeaseDeadline(.now)
            try await rig.settle()
            try await upstream.send(Cached.notModified)
            #expect(try await caller.answer().body == "first")
            rig.server.setLeaseDeadline(.now.advanced(by: patience))
            try await rig.settle()
            #expect(try await caller.ask(answeredBy: Cached.second, from: upstream).sent["If-None-Match"] == nil)
        }
    }

    @Test func `I3_ what is left in memory after a kill is not used with a new token of the same grant`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored()
            _ = await rig.server.fence(.kill(holds: false))
            rig.install(Self.anew)
            try await rig.settle()
            #expect(try await caller.ask(answeredBy: Cached.second, from: upstream).body == "second")
            #expect(try await caller.ask().body == "second")
        }
    }

    @Test func `a reload keeps what is stored usable while its token has expired and its grant stands`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, _) = try await rig.stored()
            rig.server.apply(.lapsed(Rig.account))
            try await rig.settle()
            let setup = Rig.Setup.caching()
            _ = await rig.server.reload(
                ProxyConfiguration(listeners: [], routes: Rig.routes(setup, rig.upstream.port), eventLoops: 1)
            )
            try await rig.settle()
            #expect(try await caller.ask().head.isHit)
        }
    }

    @Test func `a token that has expired while its grant stands is not needed for what is stored`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, _) = try await rig.stored()
            rig.server.apply(.lapsed(Rig.account))
            try await rig.settle()
            #expect(try await caller.ask().head.isHit)
            #expect(rig.credentials.asked == 0)
            // A kill reaches what no token stands for any more.
            _ = await rig.server.fence(.kill())
            rig.credentials.hold(nil, for: Rig.account)
            try await caller.send(Cached.get())
            try await rig.credentials.questions.next("question").answer(.failure(Self.killed))
            try await Self.expectKilled(caller)
        }
    }
}
