internal import AdminAPI
internal import AsyncHTTPClient
internal import Audit
internal import NIOCore
internal import NIOHTTP1
internal import TestKit
internal import Testing

/// A client that tries out tokens on many connections without a pause.
@Suite struct AdminAttackTests {
    /// The second argument has fewer connections than attackers, as under a low descriptor limit.
    @Test(arguments: [512, 32])
    func `a right token is accepted at any time while 64 connections send wrong ones`(
        connections: Int
    ) async throws {
        try await AdminFixture.run(limits: AdminLimits(connections: connections)) { admin in
            let (attempts, refusals) = (Tally(), Tally())
            let begin = ContinuousClock().now
            try await withThrowingTaskGroup(of: Void.self) { attackers in
                Self.attack(admin, by: 64, &attackers, attempts, refusals)
                // If there are more attackers than places, they displace each other before they are refused.
                try await eventually("the attack to be under way") { attempts.count > 64 }
                let operators = AdminCaller(base: admin.caller.base, token: AdminFixture.adminToken)
                let outcome = await Result {
                    for _ in 0..<20 {
                        let answer = try await Self.send(from: operators)
                        #expect(answer.status == 200)
                    }
                }
                try await operators.close()
                attackers.cancelAll()
                try outcome.get()
                for try await _ in attackers {}
            }
            Self.expectTwoASecond(refusals, since: begin)
        }
    }

    @Test func `more connections don't try more tokens, and fill neither the log nor the audit log`() async throws {
        try await AdminFixture.run(limits: AdminLimits()) { admin in
            let refusals = Tally()
            let begin = ContinuousClock().now
            try await withThrowingTaskGroup(of: Void.self) { attackers in
                Self.attack(admin, by: 160, &attackers, Tally(), refusals)
                try await eventually("many attempts") { refusals.count > 300 }
                attackers.cancelAll()
                for try await _ in attackers {}
            }
            Self.expectTwoASecond(refusals, since: begin)
            #expect(admin.logs.lines.count { $0.contains("is somebody trying them out?") } == 1)
            let records = try await admin.audit.log.lastNumber()
            #expect(records <= 1)
        }
    }

    /// Only 64 refusals wait at once, each for half a second. So nobody can try tokens faster.
    private static func expectTwoASecond(_ refusals: Tally, since begin: ContinuousClock.Instant) {
        let time = begin.duration(to: ContinuousClock().now)
        #expect(Double(refusals.count) <= 64 * (time / .milliseconds(500) + 1))
    }

    /// Sends a request, and repeats it while the connection is lost. With fewer places than attackers, a connection may
    /// be displaced before its head has arrived.
    private static func send(from operators: AdminCaller) async throws -> AdminCaller.Answer {
        try await within("an answer") {
            while true {
                do {
                    return try await operators.send(.GET, "/v1/accounts")
                } catch let error where error as? HTTPClientError == .remoteConnectionClosed || error is IOError {}
            }
        }
    }

    /// Sends wrong tokens on `count` connections at once until the tasks are cancelled.
    ///
    /// - Parameters:
    ///     - attempts: the requests that got a response, or whose connection was closed before.
    ///     - refusals: the requests that got status 401.
    private static func attack(
        _ admin: AdminFixture,
        by count: Int,
        _ attackers: inout ThrowingTaskGroup<Void, any Error>,
        _ attempts: Tally,
        _ refusals: Tally
    ) {
        for _ in 0..<count {
            attackers.addTask {
                while !Task.isCancelled {
                    let answer = try? await admin.caller.send(
                        .GET,
                        "/v1/accounts",
                        authorization: "Bearer wrong-canary"
                    )
                    attempts.add()
                    guard let answer else { continue }
                    #expect(answer.status == 401 || answer.status == 429)
                    if answer.status == 401 { refusals.add() }
                }
            }
        }
    }
}
