import Testing
import TokenModel

struct ClockCorrectionTests {
    private let correction = ClockCorrection()
    private static let begin = WallTime(millisecondsSince1970: 1_000_000)

    private func learn(_ offset: Int64, took: Int64 = 10) -> Bool {
        self.correction.learn(
            WallTime(millisecondsSince1970: 1_000_000 + took / 2 + offset),
            between: Self.begin,
            and: WallTime(millisecondsSince1970: 1_000_000 + took)
        )
    }

    @Test(arguments: [2_000, -2_000, 86_400_000])
    func `the offset is the difference to the middle of the reading`(offset: Int64) {
        #expect(self.learn(offset))
        #expect(self.correction.offset == .milliseconds(offset))
    }

    @Test func `a difference that the reading's duration explains changes nothing`() {
        _ = self.learn(19)
        #expect(self.correction.offset == .zero)
        _ = self.learn(149, took: 300)
        #expect(self.correction.offset == .zero)
        _ = self.learn(151, took: 300)
        #expect(self.correction.offset == .milliseconds(151))
    }

    @Test(arguments: [1_001, -1])
    func `a reading that took too long, or during which the clock was set back, tells nothing`(took: Int64) {
        #expect(!self.learn(5_000, took: took))
        #expect(self.correction.offset == .zero)
    }

    @Test func `a corrected timepiece shows the other clock's time`() {
        self.correction.offset = .seconds(3_600)
        let own = Timepiece.system.now.wall
        let corrected = Timepiece.corrected(by: self.correction).now.wall
        #expect(own.duration(to: corrected) >= .seconds(3_600))
        #expect(own.duration(to: corrected) < .seconds(3_660))
    }
}
