internal import AdminAPI
internal import AsyncHTTPClient
internal import Audit
internal import NIOHTTP1
internal import TestKit
internal import Testing

/// Somebody tries tokens out, on many connections and without a pause.
@Suite struct AdminAttackTests {
    /// Also where there are fewer connections than attackers, as with few file descriptors.
    @Test(arguments: [512, 32])
    func `a right token is let in at any time while 64 connections send wrong ones`(
        connections: Int
    ) async throws {
        try await AdminFixture.run(limits: AdminLimits(connections: connections)) { admin in
            let (attempts, refusals) = (Tally(), Tally())
            let begin = ContinuousClock().now
            try await withThrowingTaskGroup(of: Void.self) { attackers in
                Self.attack(admin, by: 64, &attackers, attempts, refusals)
                // Where they are more than the places, they push out each other before they are refused.
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
            // None is refused, and so let try on, faster than two a second on each connection.
            let time = begin.duration(to: ContinuousClock().now)
            #expect(Double(refusals.count) <= 64 * (time / .milliseconds(500) + 1))
        }
    }

    @Test func `more connections hardly try more tokens, and fill neither the log nor the audit log`() async throws {
        try await AdminFixture.run(limits: AdminLimits()) { admin in
            let refusals = Tally()
            try await withThrowingTaskGroup(of: Void.self) { attackers in
                Self.attack(admin, by: 160, &attackers, Tally(), refusals)
                // How many they are in how long says nothing of when that begins.
                try await eventually("many attempts") { refusals.count > 300 }
                let begin = ContinuousClock().now
                try await eventually("as many again") { refusals.count > 600 }
                // 64 are let try twice a second, the others once in two.
                #expect(begin.duration(to: ContinuousClock().now) > .milliseconds(600))
                attackers.cancelAll()
                for try await _ in attackers {}
            }
            #expect(admin.logs.lines.count { $0.contains("is somebody trying them out?") } == 1)
            let records = try await admin.audit.log.lastNumber()
            #expect(records <= 1)
        }
    }

    /// Sends once more where the connection was lost: with fewer places than attackers one whose head is still on its way may
    /// be pushed out, and the next is let in.
    private static func send(from operators: AdminCaller) async throws -> AdminCaller.Answer {
        do {
            return try await operators.send(.GET, "/v1/accounts")
        } catch let error as HTTPClientError where error == .remoteConnectionClosed {
            return try await operators.send(.GET, "/v1/accounts")
        }
    }

    /// Has wrong tokens sent, on so many connections at once, until the tasks are cancelled.
    ///
    /// - Parameters:
    ///   - attempts: those that were answered, or whose connection was closed before.
    ///   - refusals: those that were answered with 401.
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
