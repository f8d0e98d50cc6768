import Testing
import TokenModel
import TokenStorage

@Suite struct UnchangedSinceTests {
    private let start = BootInstant(nanoseconds: 0)

    private func at(_ seconds: Double) -> BootInstant { self.start.advanced(by: .seconds(seconds)) }

    @Test func `content read at most 2 s apart counts as unchanged over all those reads`() {
        var seen = UnchangedSince("a", at: self.start)
        for second in stride(from: 2.0, through: 20, by: 2) {
            let duration = seen.saw("a", at: self.at(second))
            #expect(duration == .seconds(second))
        }
    }

    @Test(arguments: [("b", 1.0, 1.0), ("a", 2.1, 0.0)])
    func `another value or a gap between the reads restarts the count`(
        value: String,
        later: Double,
        noticed: Double
    ) {
        var seen = UnchangedSince("a", at: self.start)
        let duration = seen.saw(value, at: self.at(later))
        #expect(duration == .zero)
        #expect(seen.start == self.at(later))
        #expect(seen.noticedAt == self.at(noticed))
    }

    @Test func `a read that ended before an earlier counted one is ignored`() {
        var seen = UnchangedSince("a", at: self.start)
        seen.saw("b", at: self.at(2))
        let duration = seen.saw("a", at: self.at(1))
        #expect(seen.content == "b")
        #expect(duration == .zero)
    }
}
