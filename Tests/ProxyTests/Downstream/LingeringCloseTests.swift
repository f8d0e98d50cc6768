import Proxy
import Testing

@Suite struct LingeringCloseTests {
    private func tick(_ duration: Duration) -> CoarseTime {
        var coarseNow = CoarseTime.start
        while coarseNow.duration(since: .start) < duration { coarseNow.advance() }
        return coarseNow
    }

    @Test func `a caller that keeps sending is read for 30 s after its response`() {
        var ending = LingeringClose(lingers: true, since: .start)
        ending.answerIsOut(at: self.tick(.seconds(30)))
        for second in 31...60 {
            ending.heard(at: self.tick(.seconds(second)))
            #expect(!ending.isOver(at: self.tick(.seconds(second)), unread: .seconds(60)))
        }
        #expect(ending.isOver(at: self.tick(.milliseconds(60_250)), unread: .seconds(60)))
    }

    @Test func `a caller that stops sending is read for 5 s more`() {
        var ending = LingeringClose(lingers: true, since: .start)
        ending.answerIsOut(at: self.tick(.seconds(1)))
        ending.heard(at: self.tick(.seconds(4)))
        #expect(!ending.isOver(at: self.tick(.seconds(9)), unread: .seconds(60)))
        #expect(ending.isOver(at: self.tick(.milliseconds(9_250)), unread: .seconds(60)))
    }

    @Test func `a lingering close can be given a shorter limit`() {
        var ending = LingeringClose(lingers: true, for: .seconds(2), since: .start)
        ending.answerIsOut(at: .start)
        ending.heard(at: self.tick(.seconds(2)))
        #expect(!ending.isOver(at: self.tick(.seconds(2)), unread: .seconds(60)))
        #expect(ending.isOver(at: self.tick(.milliseconds(2_250)), unread: .seconds(60)))
    }

    @Test func `a response may stay unread for the given time`() {
        let ending = LingeringClose(lingers: false, since: .start)
        #expect(!ending.isOver(at: self.tick(.seconds(60)), unread: .seconds(60)))
        #expect(ending.isOver(at: self.tick(.milliseconds(60_250)), unread: .seconds(60)))
    }
}
