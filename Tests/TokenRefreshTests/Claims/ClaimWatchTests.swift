import Testing
import TokenModel
import TokenRefresh
import TokenStorage

@Suite struct ClaimWatchTests {
    private let claim = AccountRecord.Claim(incarnation: IncarnationID("b"), id: ClaimID("c"), standsFor: .seconds(12))
    private let start = Moment.start.boot

    @Test func `a claim lapses when it was seen unchanged for its whole term, and not earlier`() {
        var watch = ClaimWatch()
        var lapsed: [Duration] = []
        for step in 0...48 {
            let age = Duration.milliseconds(250 * step)
            if watch.saw(self.claim, in: Version(3), at: self.start.advanced(by: age)) { lapsed.append(age) }
        }
        #expect(lapsed == [.seconds(12)])
    }

    @Test func `a gap of more than 2 s between looks restarts the count`() {
        var watch = ClaimWatch()
        var now = self.start
        for _ in 0..<10 {
            let lapsed = watch.saw(self.claim, in: Version(3), at: now)
            #expect(!lapsed)
            now = now.advanced(by: .seconds(1))
        }
        now = now.advanced(by: .milliseconds(1_001))
        for _ in 0..<12 {
            let lapsed = watch.saw(self.claim, in: Version(3), at: now)
            #expect(!lapsed)
            now = now.advanced(by: .seconds(1))
        }
        let lapsed = watch.saw(self.claim, in: Version(3), at: now)
        #expect(lapsed)
    }

    @Test(arguments: [
        (
            AccountRecord.Claim(incarnation: IncarnationID("b"), id: ClaimID("other"), standsFor: .seconds(12)),
            Version(3)
        ),
        (AccountRecord.Claim(incarnation: IncarnationID("b"), id: ClaimID("c"), standsFor: .seconds(12)), Version(4)),
    ])
    func `another claim, or the same claim in a new version, is watched from the beginning`(
        later: AccountRecord.Claim,
        version: Version
    ) {
        var watch = ClaimWatch()
        for second in 0..<11 {
            _ = watch.saw(self.claim, in: Version(3), at: self.start.advanced(by: .seconds(second)))
        }
        let atItsTime = watch.saw(later, in: version, at: self.start.advanced(by: .seconds(12)))
        #expect(!atItsTime)
    }

    @Test func `a claim seen for longer than its term is overdue even if it was rarely looked at`() {
        var watch = ClaimWatch()
        _ = watch.saw(self.claim, in: Version(3), at: self.start)
        let lapsed = watch.saw(self.claim, in: Version(3), at: self.start.advanced(by: .seconds(13)))
        #expect(!lapsed)
        #expect(!watch.isOverdue(self.claim, at: self.start.advanced(by: .seconds(12))))
        #expect(watch.isOverdue(self.claim, at: self.start.advanced(by: .seconds(13))))
        let renewed = watch.saw(self.claim, in: Version(4), at: self.start.advanced(by: .seconds(14)))
        #expect(!renewed)
        #expect(!watch.isOverdue(self.claim, at: self.start.advanced(by: .seconds(14))))
    }

    @Test func `a holder sends only while its claim lasts for a whole exchange and one more second`() {
        let term = ClaimTerm(sentAt: self.start, timeout: .seconds(8))

        #expect(ClaimTerm.length(timeout: .seconds(8)) == .seconds(12))
        #expect(term.end == self.start.advanced(by: .seconds(12)))
        #expect(term.sendBy == self.start.advanced(by: .seconds(3)))
    }
}
