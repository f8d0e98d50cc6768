import Proxy
import Testing
import TokenModel

@Suite struct WaitersTests {
    private static let key = WaiterKey(slot: 0, refused: nil)

    @Test func `those who wait for the same share one question, and are let out in the order they came`() {
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

    @Test func `a question that nobody waits for is asked once, and found by those who come`() {
        var room = Waiters<Int>()
        let isNew = room.ask(Self.key)
        let isNewAgain = room.ask(Self.key)
        let isNewToWaiter = room.enter(1, Self.key)
        #expect(isNew && !isNewAgain && !isNewToWaiter)
        let out = room.empty(Self.key)
        #expect(out == [1])
    }

    @Test func `however many come and leave, no more are held than twice those who stay`() {
        var room = Waiters<Int>()
        var present: Set<Int> = []
        var most = 0
        for number in 1...10_000 {
            _ = room.enter(number, Self.key)
            present.insert(number)
            // Each hundredth stays.
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

    @Test func `leaving costs a few steps on the average`() {
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

    @Test func `who leaves after the answer changes nothing`() {
        var room = Waiters<Int>()
        _ = room.enter(1, Self.key)
        _ = room.empty(Self.key)
        room.left(Self.key) { _ in true }
        let held = room.held(Self.key)
        #expect(held == 0)
    }
}
