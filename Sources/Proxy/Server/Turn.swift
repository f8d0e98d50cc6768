import NIOCore

/// What one connection may do before the others of its event loop get their turn.
///
/// A read brings up to 256 KiB. That can be thousands of requests that get local replies, or tens of thousands of
/// pieces of a body, and nobody else is served meanwhile.
package struct Turn {
    /// The cost of a piece of a body, or of its end, is 1; that of a head this much.
    private static let head = 32
    /// 32 heads, or 1,024 pieces: less than a millisecond.
    private static let most = 1_024

    private var cost = 0

    package init() {}

    package mutating func tookHead() { self.cost += Self.head }
    package mutating func tookPiece() { self.cost += 1 }

    package var isOver: Bool { self.cost >= Self.most }
}

/// A connection with bytes that it has not handled when its turn was over.
protocol TurnTaking: AnyObject {
    /// Handles more of them.
    func takeTurn()
}

/// The connections of an event loop that wait for another turn.
///
/// A task that an event loop gets to execute runs before the loop reads again, and so does a task that is due. So the
/// next turns begin a moment after the last ones have ended, and what can be read by then comes first.
final class TurnQueue {
    private static let pause = TimeAmount.microseconds(50)
    /// How many turns are given before the loop reads again.
    private static let atOnce = 4

    private let eventLoop: any EventLoop
    private var waiting = CircularBuffer<any TurnTaking>()
    private var isUnderWay = false

    init(on eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func append(_ connection: any TurnTaking) {
        self.waiting.append(connection)
        self.begin()
    }

    private func begin() {
        guard !self.isUnderWay, !self.waiting.isEmpty else { return }
        self.isUnderWay = true
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.eventLoop.scheduleTask(in: Self.pause) { bound.value.giveTurns() }
    }

    private func giveTurns() {
        for _ in 0..<min(Self.atOnce, self.waiting.count) { self.waiting.popFirst()?.takeTurn() }
        self.isUnderWay = false
        self.begin()
    }
}
