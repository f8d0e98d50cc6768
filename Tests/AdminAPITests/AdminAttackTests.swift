internal import AdminAPI
internal import NIOHTTP1
internal import Synchronization
internal import TestKit
internal import Testing

/// Somebody tries tokens out, on many connections and without a pause.
@Suite struct AdminAttackTests {
    @Test func `a right token is answered within a second while 64 connections send wrong ones`() async throws {
        try await AdminFixture.run(limits: AdminLimits()) { admin in
            let attempts = Mutex(0)
            try await withThrowingTaskGroup(of: Void.self) { attackers in
                for _ in 0..<64 {
                    attackers.addTask {
                        while !Task.isCancelled {
                            let answer = try? await admin.caller.send(
                                .GET,
                                "/v1/accounts",
                                authorization: "Bearer wrong-canary"
                            )
                            guard let answer else { continue }
                            #expect(answer.status == 401 || answer.status == 429)
                            attempts.withLock { $0 += 1 }
                        }
                    }
                }
                try await eventually("the attack to be under way") { attempts.withLock { $0 } > 64 }
                let operators = AdminCaller(base: admin.caller.base, token: AdminFixture.adminToken)
                let slowest = try await Self.slowest(of: 20) {
                    let answer = try await operators.send(.GET, "/v1/accounts")
                    #expect(answer.status == 200)
                }
                try await operators.close()
                #expect(slowest < .seconds(1), "\(slowest)")
                attackers.cancelAll()
                for try await _ in attackers {}
            }
            // None is let try faster than four a second on each connection.
            #expect(attempts.withLock { $0 } < 64 * 4 * 30)
        }
    }

    private static func slowest(of count: Int, _ body: () async throws -> Void) async throws -> Duration {
        var slowest = Duration.zero
        for _ in 0..<count {
            let clock = ContinuousClock()
            let begin = clock.now
            try await body()
            slowest = max(slowest, begin.duration(to: clock.now))
        }
        return slowest
    }
}
