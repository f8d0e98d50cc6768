import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// A success in hand that the store does not take.
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

    @Test func `the journal is not asked while the store takes what there is`() {
        var bench = FlightBench(.expired(), [.success(.sample())])

        #expect(bench.fly().result == .committed)

        #expect(bench.steps == ["read", "admit", "claim", "redeem", "commit"])
    }

    @Test(arguments: [StoreError.away, .full, .spoiled])
    func `I13_from the first failed commit on the journal has it, and those who wait are served`(fault: StoreError) {
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
    func `on a store that may lose its last writes the journal is asked first, and holds up nothing where it is full`(
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
    func `I13_given such a store that does not take it, those who wait are served from the journal, once`(
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

    @Test func `I13_nobody is served where neither store nor journal takes it, and the commit is not held up`() {
        var bench = Self.bench(.full, until: .seconds(30))
        bench.hasJournal = false

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(bench.passed.isEmpty)
        #expect(bench.steps.count { $0 == "journal" } == 1)
        #expect(Moment.start.boot.duration(to: bench.now.boot) < .seconds(30.5))
    }

    @Test(arguments: [Stopping.graceful, .now])
    func `I19_a stop leaves a journalled success to whoever takes the journal over`(stopping: Stopping) {
        var bench = Self.bench(.away, until: .seconds(3_600))
        bench.stopping = stopping

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(outcome.leavesJournal)
        #expect(outcome.dropped == nil)
        #expect(bench.journalled.first?.tokens?.refreshToken == Secret("rt-1"))
    }

    @Test func `a graceful stop waits for a store where the journal can't be written`() {
        var bench = Self.bench(.away, until: .seconds(30))
        bench.stopping = .graceful
        bench.hasJournal = false

        #expect(bench.fly().result == .committed)
    }

    @Test func `a refresh token that came alone is journalled, and nobody is served by it`() {
        let rotated = RotatedToken(refreshToken: Secret("rt-1"))
        var bench = Self.bench(.away, until: .seconds(5))
        bench.verdicts = [.rotated(rotated, .code("no_access_token"))]

        _ = bench.fly()

        #expect(bench.journalled.first?.tokens?.refreshToken == Secret("rt-1"))
        #expect(bench.passed.isEmpty)
        #expect(bench.stored?.record.tokens?.refreshToken == Secret("rt-1"))
    }

    @Test func `a conflict is read again before the journal is asked`() {
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
