import Testing
import TokenModel

@Suite struct BootInstantTests {
    @Test func `an absurd lifetime ends at the last representable instant and does not trap`() {
        let now = BootInstant(nanoseconds: 1_000)
        #expect(now.advanced(by: .seconds(Int64.max)) == .distantFuture)
        #expect(now.advanced(by: .seconds(Int64.min)) == .distantPast || now.advanced(by: .seconds(Int64.min)) < now)
        #expect(BootInstant.distantPast.duration(to: .distantFuture) == .nanoseconds(Int64.max))
    }

    @Test func `the clock does not go backward`() {
        let first = BootClock().now
        let second = BootClock().now
        #expect(first <= second)
    }

    @Test func `the last version has no successor and does not trap`() {
        #expect(Version(.max).next == Version(.max))
        #expect(Version.first.next == Version(2))
    }
}
