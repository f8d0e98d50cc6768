internal import AdminCLI
internal import Synchronization
internal import TestKit
internal import Testing
internal import TokenModel

@Suite struct SignInSessionTests {
    private let clock = ManualClock()
    private let said = Said()

    /// What the command printed.
    private final class Said: Sendable {
        private let list = Mutex<[String]>([])
        var lines: [String] { self.list.withLock { $0 } }
        func add(_ line: String) { self.list.withLock { $0.append(line) } }
    }

    private func session(_ gateway: FakeSignInGateway) async throws -> SignInSession {
        let start = try await self.start(gateway)
        guard case .started(let session) = start else { throw UnexpectedCourse("it did not start") }
        return session
    }

    private func start(
        _ gateway: FakeSignInGateway,
        _ order: SignInOrder = SignInOrder(account: "alice", way: .device)
    ) async throws -> SignInSession.Start {
        let (clock, said) = (self.clock, self.said)
        return try await SignInSession.start(
            order,
            at: gateway,
            clock: Timepiece(ages: clock) { clock.wall },
            mention: { said.add($0) }
        )
    }

    private static let pending = FakeSignInGateway.Act.reply(SignInFixture.reply(pendingJSON))
    private static let redeeming = FakeSignInGateway.Act.reply(SignInFixture.reply(redeemingJSON))
    private static let done = FakeSignInGateway.Act.reply(SignInFixture.reply(doneJSON))
    private static let pendingJSON = (try? SignInFixture.json(state: "pending")) ?? ""
    private static let redeemingJSON = (try? SignInFixture.json(state: "redeeming")) ?? ""
    private static let doneJSON = (try? SignInFixture.json(state: "done")) ?? ""

    private static func problem(_ status: Int, _ code: String, field: String? = nil) -> FakeSignInGateway.Act {
        .reply(SignInFixture.problem(status, code, field: field))
    }

    /// Runs `body` while the clock goes from one sleeper to the next.
    private func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let clock = self.clock
        return try await within("the sign-in") {
            try await withThrowingTaskGroup(of: Value?.self) { tasks in
                tasks.addTask { try await body() }
                tasks.addTask {
                    try await clock.advance(bySleepersWithin: .seconds(5), until: "the end") { Task.isCancelled }
                    return nil
                }
                defer { tasks.cancelAll() }
                return try #require(try await tasks.next() ?? nil)
            }
        }
    }

    private func failure(_ body: @escaping @Sendable () async throws -> Void) async throws -> CommandFailure {
        try await self.run {
            do {
                try await body()
            } catch let failure as CommandFailure {
                return failure
            }
            throw UnexpectedCourse("it did not fail")
        }
    }

    private static func answer() throws -> SignInAnswer {
        try SignInAnswer(pasted: #" <http://127.0.0.1:1/callback?code=canary"\&state=s> "#)
    }

    @Test(arguments: [
        (SignInOrder(account: "alice", way: .device), #"{"account":"alice","way":"device"}"#),
        (
            SignInOrder(account: "alice", way: .loopback, redirectURI: "http://[::1]:1/cb", replacesSubject: true),
            #"{"account":"alice","redirect_uri":"http://[::1]:1/cb","replace_subject":true,"way":"loopback"}"#
        ),
    ])
    func `a sign-in is started with what was asked for`(order: SignInOrder, body: String) async throws {
        let gateway = FakeSignInGateway([Self.pending])
        _ = try await self.start(gateway, order)
        #expect(gateway.requests == ["POST /v1/logins \(body)"])
    }

    @Test func `a redirect URI that the gateway wants instead is told apart from other refusals`() async throws {
        let uri = "http://127.0.0.1:8400/cb"
        let reply = SignInFixture.problem(400, "invalid_field", field: "redirect_uri", expected: uri)
        guard case .redirectDiffers(uri, let failure) = try await self.start(FakeSignInGateway([.reply(reply)])) else {
            Issue.record("another outcome")
            return
        }
        #expect(failure == CommandFailure(.usage, "can't sign in for alice: because"))
        let other = FakeSignInGateway([Self.problem(400, "invalid_field", field: "redirect_uri")])
        await #expect(throws: failure) { _ = try await self.start(other) }
    }

    @Test func `the command asks until the sign-in has ended`() async throws {
        // Given a gateway that is away for a while
        let gateway = FakeSignInGateway([
            Self.pending, Self.pending, .silence, Self.problem(503, "store_lost"), Self.redeeming, Self.done,
        ])
        let session = try await self.session(gateway)
        let began = self.clock.now

        // When the command waits
        let outcome = try await self.run { try await session.outcome(every: .seconds(2)) }

        // Then it asks every two seconds, and mentions the trouble once
        #expect(outcome.signIn.state == "done")
        #expect(outcome.text == Self.doneJSON)
        #expect(gateway.requests.dropFirst() == Array(repeating: "GET /v1/logins/a%2Fb ", count: 5)[...])
        #expect(began.duration(to: self.clock.now) == .seconds(8))
        #expect(self.said.lines == ["can't reach the gateway; trying again each second until the sign-in expires"])
    }

    @Test func `an answer is handed in again while the gateway or its store is away`() async throws {
        let gateway = FakeSignInGateway([
            Self.pending, Self.problem(503, "store_lost"), .silence, Self.problem(503, "audit_unavailable"), Self.done,
        ])
        let session = try await self.session(gateway)
        let began = self.clock.now
        guard case .ended(let outcome) = try await self.run({ try await session.answer(Self.answer()) }) else {
            Issue.record("it was refused")
            return
        }
        #expect(outcome.signIn.state == "done")
        let line = #"POST /v1/logins/a%2Fb {"answer":"http://127.0.0.1:1/callback?code=canary\"\\&state=s"}"#
        #expect(gateway.requests.dropFirst() == [line, line, line, line])
        #expect(began.duration(to: self.clock.now) == .seconds(3))
        #expect(
            self.said.lines == [
                "can't hand in the answer of the sign-in: because; trying again each second until the sign-in expires"
            ]
        )
    }

    @Test func `an answer that arrived although its response was lost is not taken for a failure`() async throws {
        let gateway = FakeSignInGateway([
            Self.pending, .silence, Self.problem(409, "conflict"), Self.redeeming, Self.done,
        ])
        let session = try await self.session(gateway)
        guard case .ended(let outcome) = try await self.run({ try await session.answer(Self.answer()) }) else {
            Issue.record("it was refused")
            return
        }
        #expect(outcome.signIn.state == "done")
    }

    @Test func `a conflict of a sign-in that still waits is the command's failure`() async throws {
        let gateway = FakeSignInGateway([Self.pending, Self.problem(409, "conflict"), Self.pending])
        let session = try await self.session(gateway)
        let failure = try await self.failure { _ = try await session.answer(Self.answer()) }
        #expect(failure == CommandFailure(.no, "can't hand in the answer of the sign-in: because"))
    }

    @Test func `an answer of another sign-in is refused with the gateway's reason`() async throws {
        let gateway = FakeSignInGateway([Self.pending, Self.problem(400, "invalid_field", field: "answer")])
        let session = try await self.session(gateway)
        #expect(try await self.run { try await session.answer(Self.answer()) } == .refused(reason: "because"))
    }

    @Test(arguments: [true, false])
    func `a sign-in that a newer one has displaced fails the command`(answers: Bool) async throws {
        let session = try await self.session(FakeSignInGateway([Self.pending, Self.problem(404, "not_found")]))
        let failure = try await self.failure {
            if answers { _ = try await session.answer(Self.answer()) } else { _ = try await session.outcome() }
        }
        #expect(failure.status == .no)
        #expect(failure.message.contains("a newer one for alice has taken its place"))
    }

    @Test func `a token that is refused ends the wait at once`() async throws {
        let gateway = FakeSignInGateway([Self.pending, Self.problem(401, "admin_unauthorized")])
        let session = try await self.session(gateway)
        #expect(try await self.failure { _ = try await session.outcome() }.status == .notAllowed)
        let other = try await self.session(FakeSignInGateway([Self.pending, Self.problem(403, "role_forbidden")]))
        #expect(try await self.failure { _ = try await other.answer(Self.answer()) }.status == .notAllowed)
    }

    @Test func `a gateway that stays away fails the command when the sign-in has expired`() async throws {
        let silence = Array(repeating: FakeSignInGateway.Act.silence, count: 700)
        let session = try await self.session(FakeSignInGateway([Self.pending] + silence))
        let began = self.clock.now
        let failure = try await self.failure { _ = try await session.answer(Self.answer()) }
        #expect(failure.status == .no)
        #expect(failure.message == "the sign-in for alice was not completed in time; can't reach the gateway")
        #expect(began.duration(to: self.clock.now) == .seconds(605))
        #expect(!failure.message.contains("canary"))
    }

    @Test(arguments: [
        (200, "the sign-in was cancelled"), (404, "the sign-in was cancelled"), (409, "the answer is with the gateway"),
        (503, "the gateway could not be told"),
    ])
    func `a command that is stopped cancels its sign-in`(status: Int, message: String) async throws {
        let end: FakeSignInGateway.Act = status == 200 ? Self.done : Self.problem(status, "x")
        let gateway = FakeSignInGateway([Self.pending, end])
        let session = try await self.session(gateway)
        let failure = await session.cancel()
        #expect(failure.status == .no)
        #expect(failure.message.hasPrefix(message))
        #expect(gateway.requests.last == "DELETE /v1/logins/a%2Fb ")
    }
}
