import NIOCore
import Proxy
import TestKit
import Testing
import TokenModel

/// Requests for an account that requires an approval, over real sockets.
@Suite struct ApprovalTests {
    private static let get = "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let bob = AccountID("bob")

    /// A rule for the accounts of every rig but Bob's.
    private static func rule(wait: Duration = patience) -> ProxyConfiguration.ApprovalRule {
        ProxyConfiguration.ApprovalRule(wait: wait) { $0 != Self.bob }
    }

    /// Runs `test` with a rig whose account requires an approval, and whose source of credentials `test` plays.
    private func withRule(
        _ setup: Rig.Setup = Rig.Setup(),
        wait: Duration = patience,
        _ test: (Rig) async throws -> Void
    ) async throws {
        var setup = setup
        setup.limits = { $0.approval = Self.rule(wait: wait) }
        try await withRig(setup) { rig in
            rig.credentials.hold(nil, for: Rig.account)
            try await test(rig)
        }
    }

    private func approve(_ rig: Rig) { rig.server.apply(.approved(Rig.account, until: .now.advanced(by: patience))) }

    private func endApproval(_ rig: Rig) { rig.server.apply(.approved(Rig.account, until: .now)) }

    private func expectRequired(_ caller: Peer, retryAfter: String = "1") async throws {
        let (head, body) = try await caller.answer()
        #expect(head.status == 503)
        #expect(head["Retry-After"] == retryAfter)
        #expect(body.contains("urn:martlet:error:approval_required"))
    }

    @Test func `a request waits for the yes, and leaves with the token that was there before`() async throws {
        try await self.withRule { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            let question = try await rig.credentials.questions.next("question")
            #expect(question.refused == nil)
            #expect(rig.upstream.connections == 0)

            self.approve(rig)
            question.answer(.success(.sample()))

            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.head()["Authorization"] == "Bearer token-1")
            try await upstream.send(Self.ok)
            #expect(try await caller.answer().body == "ok")
            // Then the next request asks for nothing
            try await caller.send(Self.get)
            _ = try await upstream.head()
            #expect(rig.credentials.asked == 1)
        }
    }

    @Test func `a caller is told when the yes does not come`() async throws {
        try await self.withRule { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            let question = try await rig.credentials.questions.next("question")
            question.answer(.failure(CredentialError(.approvalRequired, "nobody", retryAfter: .seconds(7))))
            try await self.expectRequired(caller, retryAfter: "7")
        }
    }

    @Test func `a credential that comes without an approval is asked for anew a few times`() async throws {
        try await self.withRule { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            for _ in 1...4 {
                try await rig.credentials.questions.next("question").answer(.success(.sample()))
            }
            try await self.expectRequired(caller)
            #expect(rig.credentials.asked == 4)
            #expect(rig.upstream.connections == 0)
        }
    }

    @Test func `a request does not retry for ever if the approval ends again and again`() async throws {
        try await self.withRule(Rig.Setup.route { $0.maxConnections = 1 }) { rig in
            self.approve(rig)
            // Given a request that waits for the only connection
            let (busy, caller) = (try await rig.caller(), try await rig.caller())
            try await busy.send(Self.get)
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await caller.send(Self.get)
            for round in 1...4 {
                try await rig.settle()
                // When the approval ends each time before that connection is free
                self.endApproval(rig)
                try await rig.settle()
                try await upstream.send(Self.ok)
                // Then the request that has left ends well
                #expect(try await busy.answer().body == "ok")
                guard round < 4 else { break }
                let question = try await rig.credentials.questions.next("question \(round)")
                self.approve(rig)
                // An event loop that gets both at once handles connections before events.
                try await rig.settle()
                try await busy.send(Self.get)
                _ = try await upstream.head()
                question.answer(.success(.sample()))
                try await eventually("it to wait no more") { rig.server.waiterCount == 0 }
            }
            try await self.expectRequired(caller)
            #expect(rig.credentials.asked == 3)
        }
    }

    @Test func `a request waits for the yes beyond the time for a credential, and another one does not`() async throws {
        var setup = Rig.Setup(credential: nil).frozen
        setup.routes = { port in
            [
                .sample(port: port),
                .sample(port: port) { plan in
                    plan.name = "bob"
                    plan.path = "/bob/"
                    plan.account = .fixed(Self.bob)
                },
            ]
        }
        try await self.withRule(setup) { rig in
            rig.server.apply(.installed(.sample()))
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            let question = try await rig.credentials.questions.next("question")
            let other = try await rig.caller()
            try await other.send("GET /bob/ HTTP/1.1\r\nHost: a\r\n\r\n")
            try await rig.pass(.seconds(16))
            #expect(try await other.answer().body.contains("urn:martlet:error:refresh_failed"))
            #expect(rig.server.waiterCount == 1)

            self.approve(rig)
            question.answer(.success(.sample()))

            #expect(try await rig.upstream.accept().head()["Authorization"] == "Bearer token-1")
        }
    }

    @Test func `a request whose source keeps silent is told that the approval is missing`() async throws {
        try await self.withRule(Rig.Setup().frozen, wait: .zero) { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            try await rig.pass(.seconds(16))
            try await self.expectRequired(caller)
        }
    }

    @Test func `a stored response is sent only while an approval stands`() async throws {
        try await self.withRule(.caching()) { rig in
            self.approve(rig)
            let (caller, _) = try await rig.stored()
            #expect(try await caller.ask().head.isHit)

            self.endApproval(rig)
            try await rig.settle()
            try await caller.send(Cached.get())
            let question = try await rig.credentials.questions.next("question")
            self.approve(rig)
            question.answer(.success(.sample()))

            // Then the response is there still, and the upstream is not asked
            let answer = try await caller.answer()
            #expect(answer.head.isHit)
            #expect(answer.body == "first")
        }
    }

    @Test func `a stored body that is being sent does not care for the end of the approval and another's kill`()
        async throws
    {
        try await self.withRule(.caching()) { rig in
            self.approve(rig)
            _ = try await rig.stored(Cached.response("max-age=60", body: LargeBody.text))
            let slow = try await Peer.connect(to: rig.port, isNarrow: true)
            try await slow.send(Cached.get())
            let head = try await slow.head()
            #expect(head.isHit)

            self.endApproval(rig)
            try await rig.settle()
            #expect(await rig.server.fence(.kill(.account(Self.bob))) == FencedExchanges())

            #expect(String(buffer: try await slow.body(of: head)) == LargeBody.text)
        }
    }

    @Test func `a reload adds the need for an approval, and takes it away`() async throws {
        try await withRig { rig in
            rig.credentials.hold(nil, for: Rig.account)
            let (caller, upstream) = try await rig.begun()
            try await upstream.send(Self.ok)
            _ = try await caller.answer()
            var plan = ProxyConfiguration(
                listeners: [],
                routes: Rig.routes(Rig.Setup(), rig.upstream.port),
                approval: Self.rule(),
                eventLoops: 1
            )

            _ = await rig.server.reload(plan)

            try await caller.send(Self.get)
            let question = try await rig.credentials.questions.next("question")
            question.answer(.failure(CredentialError(.approvalRequired, "nobody")))
            try await self.expectRequired(caller)

            plan.approval = nil
            _ = await rig.server.reload(plan)

            try await caller.send(Self.get)
            #expect(try await upstream.head()["Authorization"] == "Bearer token-1")
        }
    }
}
