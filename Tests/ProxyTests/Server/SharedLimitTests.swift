import Proxy
import Testing

@Suite struct SharedLimitTests {
    @Test func `only as many enter as there are places, and a returned place is taken again`() {
        let limit = SharedLimit(2)
        #expect([limit.enter(), limit.enter(), limit.enter(), limit.enter()] == [true, true, false, false])
        limit.leave(1)
        #expect([limit.enter(), limit.enter()] == [true, false])
    }

    @Test func `what can't be refused is counted beyond the limit`() {
        let limit = SharedLimit(10)
        limit.take(10)
        #expect(limit.isFull && !limit.isOver)
        limit.take(1)
        #expect(limit.isOver)
        #expect(!limit.enter())
        #expect(limit.taken == 11)
        limit.leave(11)
        #expect(limit.enter(10))
    }

    @Test func `a lowered limit takes nothing away, and a raised one admits at once`() {
        let limit = SharedLimit(3)
        for _ in 1...3 { #expect(limit.enter()) }
        limit.limit = 1
        #expect(limit.taken == 3 && limit.isOver)
        limit.leave(2)
        #expect(!limit.enter())
        limit.limit = 2
        #expect(limit.enter())
    }
}
