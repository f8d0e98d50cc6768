package import TokenModel

/// Decides what is delivered when. It delivers one item at a time, and each again until it is taken or too old. After
/// each failure it pauses; the pause doubles with each failure in a row.
///
///     add ──▶ waiting ──next──▶ in progress ──delivered──▶ gone
///                ▲   └─too old─▶ gone    │
///                └────────failed─────────┘
///
/// A failed item goes behind the others, so that an item that a receiver never takes does not hold them up. Each item
/// leaves in exactly one place: ``next(now:)`` if it is too old, ``delivered()``, ``failed(jitter:now:)`` after
/// ``hurry()``, or ``clear()``.
package struct DeliveryQueue<Item: Sendable>: Sendable {
    /// What to do now.
    package enum Step: Sendable {
        /// Deliver the item, and report the result.
        case send(Item)
        /// Ask again at that time.
        case rest(until: BootInstant)
        /// There is nothing to do.
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

    /// The number of items that wait or are in progress.
    package var count: Int { self.waiting.count + (self.current == nil ? 0 : 1) }

    /// Puts an item behind the others.
    ///
    /// - Returns: whether there was room.
    package mutating func add(_ item: Item, now: BootInstant) -> Bool {
        guard self.count < self.pace.room else { return false }
        self.waiting.append(Entry(item: item, since: now))
        return true
    }

    /// What to do now, if no item is in progress.
    ///
    /// - Returns: also how many items were given up because they are too old.
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

    /// The item in progress was taken.
    ///
    /// - Returns: whether that ends a series of failures.
    package mutating func delivered() -> Bool {
        let hadFailed = self.failures > 0
        self.current = nil
        self.failures = 0
        self.restsUntil = .distantPast
        return hadFailed
    }

    /// The item in progress was not taken, or that is unknown.
    ///
    /// - Parameter jitter: uniformly random from 0 to 1.
    /// - Returns: whether this begins a series of failures, and whether the item is given up.
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

    /// Ends the pause: the receiver may have changed.
    package mutating func tryAgain() {
        self.restsUntil = .distantPast
    }

    /// From now on there are no pauses, and each item has one more try.
    package mutating func hurry() {
        self.isHurried = true
    }

    /// Gives up all waiting items.
    ///
    /// - Returns: how many there were.
    package mutating func clear() -> Int {
        defer { self.waiting = [] }
        return self.waiting.count
    }
}

/// The limits of a webhook.
package struct WebhookPace: Sendable {
    /// The most alerts that wait. An alert beyond that is dropped.
    package var room: Int
    /// An alert that could not be delivered for this long is dropped.
    package var longestAge: Duration
    /// For one request, from its start to the head of the response.
    package var timeout: Duration
    /// The pause after the first failure in a row. It doubles up to ``longestPause``.
    package var firstPause: Duration
    package var longestPause: Duration
    /// The time for the remaining alerts when the process ends.
    package var grace: Duration
    /// How long events of a family are summed up before they are sent as one alert.
    package var summingTime: Duration

    package init(
        room: Int = 256,
        longestAge: Duration = .seconds(3_600),
        timeout: Duration = .seconds(5),
        firstPause: Duration = .seconds(1),
        longestPause: Duration = .seconds(60),
        grace: Duration = .seconds(5),
        summingTime: Duration = .seconds(60)
    ) {
        self.room = room
        self.longestAge = longestAge
        self.timeout = timeout
        self.firstPause = firstPause
        self.longestPause = longestPause
        self.grace = grace
        self.summingTime = summingTime
    }
}
