import GatewayServer
import Testing
import TokenModel

@Suite struct DeliveryQueueTests {
    private let start = BootInstant(nanoseconds: 3_600_000_000_000)

    private static func text(_ step: (step: DeliveryQueue<String>.Step, expired: Int)) -> String {
        let expired = step.expired > 0 ? " \(step.expired) expired" : ""
        return switch step.step {
        case .send(let item): "send \(item)" + expired
        case .rest: "rest" + expired
        case .idle: "idle" + expired
        }
    }

    private func queue(_ items: String..., pace: WebhookPace = WebhookPace()) -> DeliveryQueue<String> {
        var queue = DeliveryQueue<String>(pace)
        for item in items { _ = queue.add(item, now: self.start) }
        return queue
    }

    @Test func `items are sent one at a time, in their order`() {
        var queue = self.queue("a", "b")
        let first = Self.text(queue.next(now: self.start))
        let beside = Self.text(queue.next(now: self.start))
        let wasFailing = queue.delivered()
        let second = Self.text(queue.next(now: self.start))
        _ = queue.delivered()
        let end = Self.text(queue.next(now: self.start))
        #expect([first, beside, second, end] == ["send a", "idle", "send b", "idle"])
        #expect(!wasFailing)
        #expect(queue.count == 0)
    }

    @Test func `the pause doubles with each failure in a row, up to a minute`() {
        var queue = self.queue("a")
        var now = self.start
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            _ = queue.next(now: now)
            let (isFirst, isGivenUp) = queue.failed(jitter: 1, now: now)
            #expect(isFirst == (seconds == 1))
            #expect(!isGivenUp)
            let early = Self.text(queue.next(now: now.advanced(by: .seconds(seconds) - .milliseconds(1))))
            #expect(early == "rest")
            now = now.advanced(by: .seconds(seconds))
        }
        _ = queue.next(now: now)
        let wasFailing = queue.delivered()
        #expect(wasFailing)
        _ = queue.add("b", now: now)
        _ = queue.next(now: now)
        let (isFirst, _) = queue.failed(jitter: 0, now: now)
        let half = Self.text(queue.next(now: now.advanced(by: .milliseconds(500))))
        #expect(isFirst)
        #expect(half == "send b")
    }

    @Test func `an item that is never accepted does not delay the others`() {
        var queue = self.queue("poison", "b")
        _ = queue.next(now: self.start)
        _ = queue.failed(jitter: 1, now: self.start)
        let next = Self.text(queue.next(now: self.start.advanced(by: .seconds(1))))
        #expect(next == "send b")
    }

    @Test func `the queue limit includes the item in progress`() {
        var queue = self.queue("a", "b", pace: WebhookPace(room: 2))
        _ = queue.next(now: self.start)
        let third = queue.add("c", now: self.start)
        _ = queue.delivered()
        let fourth = queue.add("d", now: self.start)
        #expect(!third)
        #expect(fourth)
    }

    @Test func `an item older than an hour is dropped`() {
        var queue = self.queue("a")
        let late = self.start.advanced(by: .seconds(3_599))
        _ = queue.add("b", now: late)
        let step = Self.text(queue.next(now: self.start.advanced(by: .seconds(3_600))))
        #expect(step == "send b 1 expired")
    }

    @Test func `in a hurry the queue does not pause, and drops items that fail`() {
        var queue = self.queue("a", "b")
        _ = queue.next(now: self.start)
        _ = queue.failed(jitter: 1, now: self.start)
        queue.hurry()
        let first = Self.text(queue.next(now: self.start))
        let (_, isGivenUp) = queue.failed(jitter: 1, now: self.start)
        let second = Self.text(queue.next(now: self.start))
        let left = queue.clear()
        #expect([first, second] == ["send b", "send a"])
        #expect(isGivenUp)
        #expect(left == 0)
    }
}
