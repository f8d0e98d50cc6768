import NIOCore
import Proxy
import Synchronization
import TestKit
import Testing
import TokenModel

@Suite struct FencingUnderLoadTests {
    private static let callers = 16
    private static let rounds: UInt64 = 8

    @Test(arguments: [1, 2], KillStreams.allCases)
    func `I3_ once a kill is in force no head with a killed token arrives, however many are in transit`(
        eventLoops: Int,
        streams: KillStreams
    ) async throws {
        let recorder = HeadRecorder()
        let port = try await recorder.start()
        let setup = Rig.Setup(eventLoops: eventLoops, routes: { _ in [.sample(port: port)] })
        try await withRig(setup) { rig in
            let isOver = SentFlag()
            let refusals = Tally()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 1...Self.callers {
                    tasks.addTask { while !isOver.isSet { try await Self.call(rig, isOver, refusals) } }
                }
                defer { isOver.set() }
                for round in 1...Self.rounds {
                    // Given a token in use
                    rig.install(.sample(round, observedEpoch: Epoch(round - 1)))
                    try await eventually("requests with token \(round)") { recorder.seen(round) >= 100 }

                    _ = await rig.server.fence(.kill(at: round, holds: false, streams: streams))

                    try await recorder.forbid(round)
                    // When the killed credential is announced once more
                    rig.server.apply(.installed(.sample(round, observedEpoch: Epoch(round - 1))))
                    // and all callers have come back
                    let before = refusals.count
                    try await eventually("refusals") { refusals.count >= before + 2 * Self.callers }
                    #expect(recorder.violations == [])
                }
                isOver.set()
                try await tasks.waitForAll()
            }
            #expect(recorder.violations == [])
            try await eventually("all to be over") { await rig.server.requestCount() == 0 }
        }
        try await recorder.stop()
    }

    /// Sends requests on one connection until the connection is cut. A 503 comes at once: the source of credentials
    /// still returns the dead one.
    private static func call(_ rig: Rig, _ isOver: SentFlag, _ refusals: Tally) async throws {
        let caller = try await rig.caller()
        defer { caller.close() }
        do {
            while !isOver.isSet {
                try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
                let answer = try await caller.answer()
                if answer.head.status == 503 { refusals.add() }
                #expect(answer.head.status == 503 || answer.head.status == 200 && answer.body == "ok")
            }
        } catch is TimedOut {
            Issue.record("a caller that nobody answers")
        } catch {
            // The connection was cut before the response was complete. The loop accepts complete responses.
        }
    }
}
