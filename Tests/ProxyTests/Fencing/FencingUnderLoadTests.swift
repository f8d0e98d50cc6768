import NIOCore
import Proxy
import Synchronization
import Testing
import TokenModel

@Suite struct FencingUnderLoadTests {
    private static let callers = 16
    private static let rounds: UInt64 = 25

    @Test(arguments: [1, 2], KillStreams.allCases)
    func `I3_ once a kill has come into force no head with a killed token arrives, however many are on their way`(
        eventLoops: Int,
        streams: KillStreams
    ) async throws {
        let recorder = HeadRecorder()
        let port = try await recorder.start()
        let setup = Rig.Setup(eventLoops: eventLoops, routes: { _ in [.sample(port: port)] })
        try await withRig(setup) { rig in
            let isOver = SentFlag()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 1...Self.callers {
                    tasks.addTask { while !isOver.isSet { try await Self.call(rig, isOver) } }
                }
                defer { isOver.set() }
                for round in 1...Self.rounds {
                    // Given a token in use
                    rig.install(.sample(round, observedEpoch: Epoch(round - 1)))
                    try await eventually("requests with token \(round)") { recorder.seen(round) >= 100 }

                    _ = await rig.server.fence(.kill(at: round, holds: false, streams: streams))

                    try await recorder.forbid(round)
                    // When somebody still announces it
                    rig.server.apply(.installed(.sample(round, observedEpoch: Epoch(round - 1))))
                    try await Task.sleep(for: .milliseconds(5))
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

    /// Requests on one connection, until that is cut. The answers without a token come at once: whoever is asked for one
    /// names the dead one.
    private static func call(_ rig: Rig, _ isOver: SentFlag) async throws {
        let caller = try await rig.caller()
        defer { caller.close() }
        do {
            while !isOver.isSet {
                try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
                let answer = try await caller.answer()
                #expect(answer.head.status == 503 || answer.head.status == 200 && answer.body == "ok")
            }
        } catch is TimedOut {
            Issue.record("a caller that nobody answers")
        } catch {
            // It was cut: not a whole answer, which would have been taken.
        }
    }
}
