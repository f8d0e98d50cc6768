import Proxy
import Testing
import TokenModel

@Suite struct WaitersTests {
    private static let key = WaiterKey(slot: 0, refused: nil)

    @Test func `waiters with the same key share one question, and leave in the order they came`() {
        var room = Waiters<Int>()
        let isNew = (1...3).map { room.enter($0, Self.key) }
        let isOtherNew = room.enter(4, WaiterKey(slot: 1, refused: nil))
        #expect(isNew == [true, false, false])
        #expect(isOtherNew)
        let out = room.empty(Self.key)
        #expect(out == [1, 2, 3])
        let isNewAgain = room.enter(5, Self.key)
        #expect(isNewAgain)
    }

    @Test func `a question without waiters is asked once, and later waiters join it`() {
        var room = Waiters<Int>()
        let isNew = room.ask(Self.key)
        let isNewAgain = room.ask(Self.key)
        let isNewToWaiter = room.enter(1, Self.key)
        #expect(isNew && !isNewAgain && !isNewToWaiter)
        let out = room.empty(Self.key)
        #expect(out == [1])
    }

    @Test func `the queue holds about twice as many entries as there are waiters, however many come and leave`() {
        var room = Waiters<Int>()
        var present: Set<Int> = []
        var most = 0
        for number in 1...10_000 {
            _ = room.enter(number, Self.key)
            present.insert(number)
            // Every hundredth waiter stays.
            if !number.isMultiple(of: 100) {
                present.remove(number)
                room.left(Self.key) { present.contains($0) }
            }
            most = max(most, room.held(Self.key) - 2 * present.count)
        }
        #expect(most <= 34)
        let out = room.empty(Self.key).filter { present.contains($0) }
        #expect(out == present.sorted())
    }

    @Test func `leaving takes a few steps on average`() {
        var room = Waiters<Int>()
        let count = 20_000
        for number in 0..<count { _ = room.enter(number, Self.key) }
        var looks = 0
        for number in 0..<count {
            room.left(Self.key) { waiter in
                looks += 1
                return waiter > number
            }
        }
        #expect(looks < 4 * count)
    }

    @Test func `a waiter that leaves after the queue was emptied changes nothing`() {
        var room = Waiters<Int>()
        _ = room.enter(1, Self.key)
        _ = room.empty(Self.key)
        room.left(Self.key) { _ in true }
        let held = room.held(Self.key)
        #expect(held == 0)
    }
}
