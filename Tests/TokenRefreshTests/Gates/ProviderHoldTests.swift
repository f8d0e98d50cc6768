import Testing
import TokenModel
import TokenRefresh

@Suite struct ProviderHoldTests {
    private let start = Moment.start.boot

    @Test func `a refused client is probed after 30 s, then at doubling intervals up to 5 min`() {
        var hold = ProviderHold()
        let changed = hold.learned(.refused, probe: false, now: self.start)
        #expect(changed)
        var now = self.start
        for distance in [30, 60, 120, 240, 300, 300] {
            let early = hold.admit(now: now.advanced(by: .seconds(distance) - .milliseconds(1)))
            #expect(early == .held(retryAfter: .milliseconds(1)))
            now = now.advanced(by: .seconds(distance))
            let probe = hold.admit(now: now)
            #expect(probe == .probe)
            let beside = hold.admit(now: now)
            #expect(beside == .held(retryAfter: .seconds(1)))
            _ = hold.learned(.refused, probe: true, now: now)
        }
    }

    @Test func `a response about the grant ends the hold for all accounts`() {
        var hold = ProviderHold()
        _ = hold.learned(.refused, probe: false, now: self.start)
        let changed = hold.learned(.accepted, probe: false, now: self.start)
        let admission = hold.admit(now: self.start)
        #expect(changed)
        #expect(admission == .open)
        #expect(!hold.isHeld)
    }

    @Test func `a probe without a response is repeated after the same interval`() {
        var hold = ProviderHold()
        _ = hold.learned(.refused, probe: false, now: self.start)
        let atProbe = self.start.advanced(by: .seconds(30))
        _ = hold.admit(now: atProbe)
        _ = hold.learned(.silence, probe: true, now: atProbe)
        let early = hold.admit(now: atProbe.advanced(by: .seconds(29)))
        let again = hold.admit(now: atProbe.advanced(by: .seconds(30)))
        #expect(early == .held(retryAfter: .seconds(1)))
        #expect(again == .probe)
    }

    @Test func `a probe that sent nothing lets the next request probe and leaves the interval unchanged`() {
        var hold = ProviderHold()
        _ = hold.learned(.refused, probe: false, now: self.start)
        let atProbe = self.start.advanced(by: .seconds(30))
        _ = hold.admit(now: atProbe)
        let changed = hold.learned(.nothing, probe: true, now: atProbe)
        let next = hold.admit(now: atProbe)
        _ = hold.learned(.refused, probe: true, now: atProbe)
        let early = hold.admit(now: atProbe.advanced(by: .seconds(59)))
        #expect(!changed)
        #expect(next == .probe)
        #expect(early == .held(retryAfter: .seconds(1)))
    }

    @Test func `after a reload the next request probes even if an earlier probe is in progress`() {
        var hold = ProviderHold()
        _ = hold.learned(.refused, probe: false, now: self.start)
        _ = hold.admit(isForced: true, now: self.start)
        hold.tryAgain(now: self.start)
        let probe = hold.admit(now: self.start)
        let beside = hold.admit(now: self.start)
        #expect(probe == .probe)
        #expect(beside == .held(retryAfter: .seconds(1)))
    }

    @Test func `an operator's refresh probes at once`() {
        var hold = ProviderHold()
        _ = hold.learned(.refused, probe: false, now: self.start)
        let forced = hold.admit(isForced: true, now: self.start)
        #expect(forced == .probe)
    }

    @Test func `flights that began before the hold don't extend it`() {
        var hold = ProviderHold()
        _ = hold.learned(.refused, probe: false, now: self.start)
        for _ in 0..<10 { _ = hold.learned(.refused, probe: false, now: self.start.advanced(by: .seconds(5))) }
        let probe = hold.admit(now: self.start.advanced(by: .seconds(30)))
        #expect(probe == .probe)
    }
}
