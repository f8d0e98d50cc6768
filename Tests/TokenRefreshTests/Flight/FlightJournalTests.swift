import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// A received success that the store does not accept.
@Suite struct FlightJournalTests {
    private static func bench(_ fault: StoreError, until: Duration) -> FlightBench {
        var bench = FlightBench(.expired(), [.success(.sample())])
        let back = Moment.start.boot.advanced(by: until)
        bench.interfere = { bench, step, number in
            let isOfStore = ["read", "commit", "write back"].contains(step)
            if number >= 4, isOfStore, bench.now.boot < back { bench.failure = fault }
        }
        return bench
    }

    @Test(arguments: [StoreError.away, .full, .spoiled])
    func `I13_after a failed commit the journal holds the tokens, and the waiters are served`(fault: StoreError) {
        var bench = Self.bench(fault, until: .seconds(30))

        let outcome = bench.fly()

        #expect(bench.steps.prefix(8) == ["read", "admit", "claim", "redeem", "commit", "journal", "pass", "pause"])
        #expect(bench.steps.count { $0 == "journal" } == 1)
        #expect(bench.steps.count { $0 == "pass" } == 1)
        #expect(outcome.result == .committed)
        #expect(!outcome.leavesJournal)
        #expect(bench.journalled.first == bench.stored?.record)
        #expect(bench.passed.first == bench.stored)
    }

    @Test(arguments: [true, false])
    func `for a store that may lose its last writes the journal comes first, but a full journal delays nothing`(
        hasJournal: Bool
    ) {
        var bench = FlightBench(.expired(), [.success(.sample())])
        bench.journalsFirst = true
        bench.hasJournal = hasJournal

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(bench.steps == ["read", "admit", "claim", "redeem", "journal", "commit"])
        #expect(bench.journalled == (hasJournal ? [bench.stored?.record].compactMap { $0 } : []))
        #expect(bench.passed.isEmpty)
    }

    @Test(arguments: [StoreError.away, .full])
    func `I13_if such a store rejects the commit, the waiters are served from the journal once`(
        fault: StoreError
    ) {
        var bench = Self.bench(fault, until: .seconds(30))
        bench.journalsFirst = true

        let outcome = bench.fly()

        let first = ["read", "admit", "claim", "redeem", "journal", "commit", "pass", "pause"]
        #expect(Array(bench.steps.prefix(8)) == first)
        #expect(bench.steps.count { $0 == "journal" } == 1)
        #expect(bench.steps.count { $0 == "pass" } == 1)
        #expect(outcome.result == .committed)
    }

    @Test func `I13_nobody is served if neither store nor journal accepts the tokens, and the commit is not delayed`() {
        var bench = Self.bench(.full, until: .seconds(30))
        bench.hasJournal = false

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(bench.passed.isEmpty)
        #expect(bench.steps.count { $0 == "journal" } == 1)
        #expect(Moment.start.boot.duration(to: bench.now.boot) < .seconds(30.5))
    }

    @Test(arguments: [Stopping.graceful, .now])
    func `I19_a stop leaves a journalled success to the process that takes over the journal`(stopping: Stopping) {
        var bench = Self.bench(.away, until: .seconds(3_600))
        bench.stopping = stopping

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(outcome.leavesJournal)
        #expect(outcome.dropped == nil)
        #expect(bench.journalled.first?.tokens?.refreshToken == Secret("rt-1"))
    }

    @Test func `a graceful stop waits for the store if the journal can't be written`() {
        var bench = Self.bench(.away, until: .seconds(30))
        bench.stopping = .graceful
        bench.hasJournal = false

        #expect(bench.fly().result == .committed)
    }

    @Test func `a refresh token that came alone is journalled but serves no waiter`() {
        let rotated = RotatedToken(refreshToken: Secret("rt-1"))
        var bench = Self.bench(.away, until: .seconds(5))
        bench.verdicts = [.rotated(rotated, .code("no_access_token"))]

        _ = bench.fly()

        #expect(bench.journalled.first?.tokens?.refreshToken == Secret("rt-1"))
        #expect(bench.passed.isEmpty)
        #expect(bench.stored?.record.tokens?.refreshToken == Secret("rt-1"))
    }

    @Test func `after a conflict the record is read again before the journal is used`() {
        var bench = FlightBench(.expired(), [.success(.sample())])
        bench.interfere = { bench, step, number in
            if step == "commit", number == 4 { bench.put(.valid(grant: GrantID("new"))) }
        }

        #expect(bench.fly().result == .settled)

        #expect(bench.journalled.isEmpty)
    }

    @Test func `a mint loses nothing and is not journalled`() {
        var bench = Self.bench(.away, until: .seconds(5))
        bench.mints = GrantID("m")
        bench.stored = nil

        #expect(bench.fly().result == .committed)

        #expect(bench.journalled.isEmpty && bench.passed.isEmpty)
    }
}
