import Proxy
import Testing
import TokenModel

/// Requests that name their account, sent over real sockets.
@Suite struct ChosenAccountTests {
    private static let bob = AccountID("bob")
    private static let done = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"

    private func callers() throws -> [CallerConfiguration] {
        [
            CallerConfiguration(name: "all", keys: [try .of("all")]),
            CallerConfiguration(name: "alices", keys: [try .of("alices")], accounts: [.name(Rig.account)]),
        ]
    }

    private func setup() throws -> Rig.Setup {
        var setup = Rig.Setup.route { $0.account = .chosen([.name(Rig.account), .name(Self.bob)]) }
        setup.callers = try self.callers()
        return setup
    }

    private func request(_ fields: String, key: String = "all") -> String {
        "GET /acme/x HTTP/1.1\r\nHost: a\r\nMartlet-Key: \(key)\r\n\(fields)\r\n"
    }

    /// Sends a request and expects it to reach the upstream with `token`.
    private func expect(_ token: String, _ rig: Rig, _ caller: Peer, _ account: String, key: String = "all")
        async throws
    {
        try await caller.send(self.request("Martlet-Account: \(account)\r\n", key: key))
        let upstream = try await rig.upstream.accept()
        let head = try await upstream.head()
        #expect(head["Authorization"] == "Bearer \(token)")
        #expect(head["Martlet-Account"] == nil && head["Martlet-Key"] == nil)
        try await upstream.send(Self.done)
        let answer = try await caller.head()
        #expect(answer.status == 204)
    }

    @Test func `each request gets the token of the account it names, and the name is not forwarded`() async throws {
        try await withRig(self.setup()) { rig in
            rig.install(.sample(2, account: Self.bob))
            let caller = try await rig.caller()
            try await self.expect("token-1", rig, caller, "alice")
            try await self.expect("token-2", rig, caller, "bob")
            try await self.expect("token-1", rig, caller, "alice", key: "alices")
        }
    }

    @Test func `a missing, unknown or forbidden account is refused, and no credential is requested`() async throws {
        try await withRig(self.setup()) { rig in
            let caller = try await rig.caller()
            var bodies: [String] = []
            for fields in [
                "Martlet-Account: bob\r\n", "Martlet-Account: nobody\r\n", "Martlet-Account:\r\n",
                "Martlet-Account: ALICE\r\n", "Martlet-Account: alice, bob\r\n", "",
            ] {
                try await caller.send(self.request(fields, key: "alices"))
                let (head, body) = try await caller.answer()
                #expect(head.status == 403)
                #expect(body.contains("urn:martlet:error:caller_forbidden"))
                bodies.append(body)
            }
            // A forbidden account gets the same response as an unknown one.
            #expect(Set(bodies.dropLast()).count == 1)
            #expect(bodies.last?.contains("the route needs Martlet-Account") == true)
            #expect(bodies.allSatisfy { !$0.contains("bob") && !$0.contains("nobody") && !$0.contains("alice") })
            #expect(rig.credentials.asked == 0)
            // The next permitted request is the first that the upstream receives.
            try await self.expect("token-1", rig, caller, "alice", key: "alices")
        }
    }

    @Test func `a request with two account names gets 400`() async throws {
        try await withRig(self.setup()) { rig in
            let caller = try await rig.caller()
            try await caller.send(self.request("Martlet-Account: alice\r\nmartlet-account: alice\r\n"))
            let (head, _) = try await caller.answer()
            #expect(head.status == 400)
            #expect(rig.credentials.asked == 0)
        }
    }

    @Test func `a request waits only for the account it names`() async throws {
        try await withRig(self.setup()) { rig in
            let (one, other) = (try await rig.caller(), try await rig.caller())
            try await one.send(self.request("Martlet-Account: bob\r\n"))
            let question = try await rig.credentials.questions.next("question for a pass")
            #expect(question.account == Self.bob)
            try await self.expect("token-1", rig, other, "alice")
            let credential = UpstreamCredential.sample(2, account: Self.bob)
            rig.server.apply(.installed(credential))
            question.answer(.success(credential))
            let upstream = try await rig.upstream.accept()
            let head = try await upstream.head()
            #expect(head["Authorization"] == "Bearer token-2")
            try await upstream.send(Self.done)
            let answer = try await one.head()
            #expect(answer.status == 204)
        }
    }

    @Test func `a reload changes the choice of accounts on an open connection`() async throws {
        try await withRig(self.setup()) { rig in
            rig.install(.sample(2, account: Self.bob))
            let caller = try await rig.caller()
            try await self.expect("token-2", rig, caller, "bob")
            let carol = AccountID("carol")
            rig.install(.sample(3, account: carol))
            let plan = ProxyConfiguration(
                listeners: [],
                routes: [
                    .sample(port: rig.upstream.port) { $0.account = .chosen([.name(Rig.account), .name(carol)]) }
                ],
                callers: try self.callers(),
                eventLoops: 1
            )
            _ = await rig.server.reload(plan)
            try await self.expect("token-3", rig, caller, "carol")
            try await caller.send(self.request("Martlet-Account: bob\r\n"))
            let (head, _) = try await caller.answer()
            #expect(head.status == 403)
        }
    }
}
