package import TokenModel

/// Decides what is delivered when: one at a time, each again until it was taken or is too old, with a pause after each
/// failure that doubles with those in a row.
///
///     add ──▶ waiting ──next──▶ under way ──delivered──▶ gone
///                ▲   └─too old─▶ gone         │
///                └──────────failed────────────┘
///
/// What failed goes behind the others, so that one that a receiver never takes does not hold them up. What goes in comes
/// out in exactly one place: ``next(now:)`` as too old, ``delivered()``, ``failed(jitter:now:)`` once in a hurry, or
/// ``clear()``.
package struct DeliveryQueue<Item: Sendable>: Sendable {
    /// What is to be done now.
    package enum Step: Sendable {
        /// Deliver it, and say what came of it.
        case send(Item)
        /// Come again then.
        case rest(until: BootInstant)
        /// There is nothing.
        case idle
    }

    private struct Entry: Sendable {
        let item: Item
        let since: BootInstant
    }

    private let pace: WebhookPace
    private var waiting: [Entry] = []
    private var current: Entry?
    private var failures = 0
    private var restsUntil = BootInstant.distantPast
    private var isHurried = false

    package init(_ pace: WebhookPace) {
        self.pace = pace
    }

    /// How many wait or are under way.
    package var count: Int { self.waiting.count + (self.current == nil ? 0 : 1) }

    /// Puts an item behind the others.
    ///
    /// - Returns: whether there was room.
    package mutating func add(_ item: Item, now: BootInstant) -> Bool {
        guard self.count < self.pace.room else { return false }
        self.waiting.append(Entry(item: item, since: now))
        return true
    }

    /// What to do now, when nothing is under way.
    ///
    /// - Returns: also how many were given up, since they are too old.
    package mutating func next(now: BootInstant) -> (step: Step, expired: Int) {
        let (before, longestAge) = (self.waiting.count, self.pace.longestAge)
        self.waiting.removeAll { $0.since.duration(to: now) >= longestAge }
        let expired = before - self.waiting.count
        guard self.current == nil, !self.waiting.isEmpty else { return (.idle, expired) }
        guard self.isHurried || now >= self.restsUntil else { return (.rest(until: self.restsUntil), expired) }
        let entry = self.waiting.removeFirst()
        self.current = entry
        return (.send(entry.item), expired)
    }

    /// The one under way was taken.
    ///
    /// - Returns: whether that ends a row of failures.
    package mutating func delivered() -> Bool {
        let hadFailed = self.failures > 0
        self.current = nil
        self.failures = 0
        self.restsUntil = .distantPast
        return hadFailed
    }

    /// The one under way was not taken, or nobody knows.
    ///
    /// - Parameter jitter: drawn evenly from 0 to 1.
    /// - Returns: whether it begins a row of failures, and whether the item is given up.
    package mutating func failed(jitter: Double, now: BootInstant) -> (isFirst: Bool, isGivenUp: Bool) {
        let isFirst = self.failures == 0
        self.failures = min(self.failures + 1, 32)
        let longest = min(self.pace.firstPause * (1 << (self.failures - 1)), self.pace.longestPause)
        self.restsUntil = now.advanced(by: longest / 2 + longest / 2 * min(max(jitter, 0), 1))
        let isGivenUp = self.isHurried
        if let current = self.current, !isGivenUp { self.waiting.append(current) }
        self.current = nil
        return (isFirst, isGivenUp)
    }

    /// Ends the pause: the receiver may be another.
    package mutating func tryAgain() {
        self.restsUntil = .distantPast
    }

    /// From now on nothing is waited for, and each item has one more try.
    package mutating func hurry() {
        self.isHurried = true
    }

    /// Gives up all that wait.
    ///
    /// - Returns: how many those were.
    package mutating func clear() -> Int {
        defer { self.waiting = [] }
        return self.waiting.count
    }
}

/// How much a webhook may take upon itself.
package struct WebhookPace: Sendable {
    /// Alerts that wait, at the most; one for which there is no room is dropped.
    package var room: Int
    /// An alert that could not be delivered for so long is dropped.
    package var longestAge: Duration
    /// Of one request, from its beginning to the head of its answer.
    package var timeout: Duration
    /// After the first failure in a row; it doubles up to the longest.
    package var firstPause: Duration
    package var longestPause: Duration
    /// For what is left when the process ends.
    package var grace: Duration

    package init(
        room: Int = 256,
        longestAge: Duration = .seconds(3_600),
        timeout: Duration = .seconds(5),
        firstPause: Duration = .seconds(1),
        longestPause: Duration = .seconds(60),
        grace: Duration = .seconds(5)
    ) {
        self.room = room
        self.longestAge = longestAge
        self.timeout = timeout
        self.firstPause = firstPause
        self.longestPause = longestPause
        self.grace = grace
    }
}
