import Proxy
import Testing

@Suite struct CallerEndingTests {
    private func tick(_ duration: Duration) -> Tick {
        var tick = Tick.start
        while tick.duration(since: .start) < duration { tick.advance() }
        return tick
    }

    @Test func `a caller is heard out for a mebibyte and no more`() {
        var ending = CallerEnding(lingers: true, since: .start)
        let first = ending.takes(1 << 20)
        let second = ending.takes(1)
        #expect([first, second] == [false, true])
    }

    @Test func `two seconds after the answer it is over`() {
        var ending = CallerEnding(lingers: true, since: .start)
        ending.answerIsOut(at: self.tick(.seconds(30)))
        #expect(!ending.isOver(at: self.tick(.seconds(32)), unread: .seconds(60)))
        #expect(ending.isOver(at: self.tick(.milliseconds(32_250)), unread: .seconds(60)))
    }

    @Test func `an answer that is left unread may stay so for the time given`() {
        let ending = CallerEnding(lingers: false, since: .start)
        #expect(!ending.isOver(at: self.tick(.seconds(60)), unread: .seconds(60)))
        #expect(ending.isOver(at: self.tick(.milliseconds(60_250)), unread: .seconds(60)))
    }
}
