import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// What the one is told who asked for a refresh, and not for a pass.
@Suite struct OperatorsRefreshTests {
    private typealias Desk = AccountDesk<String>
    private let now = Moment.start
    private var deadline: BootInstant { self.now.boot.advanced(by: .seconds(15)) }
    private let entry = AccountVault.Entry(record: .valid(), version: Version(1))

    /// A valid token, which an operator has refreshed all the same.
    private func desk() -> Desk {
        var desk = Desk(account: alice, binding: .acme)
        _ = desk.observe(self.entry, now: self.now)
        _ = desk.ask(
            "operator",
            as: WaiterID(rawValue: 1),
            for: .refresh,
            timeout: .seconds(15),
            now: self.now.boot
        )
        return desk
    }

    private func error(_ served: Desk.Served?) -> PassError? {
        if case .failure(let error)? = served?.result { error } else { nil }
    }

    @Test func `a refresh that failed is told of beside a token that is still valid`() {
        var desk = self.desk()
        #expect(desk.waiterCount == 1)

        let sight = Sight(self.entry, after: desk.sight, now: self.now)
        let landing = desk.land(FlightOutcome(.failed(.any(.providerConfig)), sight: sight), now: self.now.boot)

        #expect(landing.served.count == 1)
        #expect(self.error(landing.served.first)?.code == .providerConfig)
        #expect(self.error(landing.served.first)?.isUnderWay == false)
    }

    @Test func `a wait that has lasted too long leaves the refresh under way`() {
        var desk = self.desk()
        let late = desk.expire(now: self.deadline)
        #expect(self.error(late.first)?.isUnderWay == true)
        #expect(desk.isFlying)
    }

    @Test func `a refresh that a stop has ended is not under way`() {
        var desk = self.desk()
        let stopped = desk.close()
        #expect(self.error(stopped.first)?.isUnderWay == false)
    }
}
