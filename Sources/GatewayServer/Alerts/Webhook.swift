package import Logging
package import NIOCore
internal import Synchronization
package import TokenModel

/// Reports events to the configured receiver: one signed POST for each event, again until it is taken. Events of accounts
/// in families are summed up first, see ``EventDigest``.
///
/// ``post(_:)`` never waits, so nothing here can hold up a refresh. ``run()`` must run for anything to be sent. It ends
/// after ``stop()``, which gives each remaining alert one last try.
package final class Webhook: Sendable {
    private struct State {
        var queue: DeliveryQueue<Alert>
        var digest: EventDigest
        var target: WebhookTarget?
        var counts = WebhookCounts()
        var isOverflowing = false
        /// Set by ``stop()``.
        var endsBy: BootInstant?

        /// - Returns: whether the alert is the first that is dropped since the queue last had room.
        mutating func add(_ alert: Alert, now: BootInstant) -> Bool {
            guard !self.queue.add(alert, now: now) else {
                self.isOverflowing = false
                return false
            }
            self.counts.dropped += 1
            defer { self.isOverflowing = true }
            return !self.isOverflowing
        }

        /// Queues the sums that are due, after ``stop()`` all of them.
        ///
        /// - Returns: as ``add(_:now:)``.
        mutating func addSums(now: BootInstant) -> Bool {
            let sums = self.endsBy == nil ? self.digest.due(now: now) : self.digest.flush()
            return sums.reduce(false) { isFirst, sum in self.add(Alert(sum), now: now) || isFirst }
        }
    }

    private let state: Mutex<State>
    private let pace: WebhookPace
    private let replica: String
    private let group: any EventLoopGroup
    private let family: @Sendable (AccountID) -> AccountFamily?
    private let timepiece: Timepiece
    private let logger: Logger
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - target: if `nil`, events are dropped.
    ///   - replica: this process's name, for the receiver.
    ///   - group: runs the connections.
    ///   - family: the family of an account; `nil` for an account that is configured by name.
    package init(
        _ target: WebhookTarget?,
        replica: String,
        pace: WebhookPace = WebhookPace(),
        on group: any EventLoopGroup,
        family: @escaping @Sendable (AccountID) -> AccountFamily?,
        timepiece: Timepiece = .system,
        logger: Logger
    ) {
        let digest = EventDigest(length: pace.summingTime)
        self.state = Mutex(State(queue: DeliveryQueue(pace), digest: digest, target: target))
        self.pace = pace
        self.replica = replica
        self.group = group
        self.family = family
        self.timepiece = timepiece
        self.logger = logger
        (self.wakes, self.wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    package var counts: WebhookCounts { self.state.withLock { $0.counts } }

    /// Queues an event to be sent, by itself or in the sum of its account's family.
    package func post(_ event: RefreshEvent) {
        let now = self.timepiece.now.boot
        let share = event.account.flatMap { account in self.family(account).map { (account, $0) } }
        let isFirstDropped: Bool = self.state.withLock { state in
            guard state.target != nil else { return false }
            guard let (account, family) = share else { return state.add(Alert(event), now: now) }
            guard let sum = state.digest.add(event, account, of: family, now: now) else { return false }
            return state.add(Alert(sum), now: now)
        }
        if isFirstDropped { self.reportOverflow() }
        self.wake.yield()
    }

    private func reportOverflow() {
        self.logger.warning("too many alerts wait for the webhook, and new ones are dropped", metadata: self.facts)
    }

    /// Sends to another target from now on. `nil` sends to none, and drops the waiting alerts.
    package func reload(_ target: WebhookTarget?) {
        self.state.withLock { state in
            guard state.target != target else { return }
            state.target = target
            if target == nil { state.counts.dropped += UInt64(state.queue.clear() + state.digest.flush().count) }
            state.queue.tryAgain()
        }
        self.wake.yield()
    }

    /// Ends ``run()`` once all alerts are sent, or after ``WebhookPace/grace``.
    package func stop() {
        let endsBy = self.timepiece.now.boot.advanced(by: self.pace.grace)
        self.state.withLock { state in
            state.endsBy = state.endsBy ?? endsBy
            state.queue.hurry()
        }
        self.wake.yield()
    }

    /// Sends the posted events. Call it once.
    package func run() async {
        let client = AlertClient(on: self.group)
        await withDiscardingTaskGroup { timers in
            var alarm = BootInstant.distantFuture
            for await _ in self.wakes {
                if alarm <= self.timepiece.now.boot { alarm = .distantFuture }
                let (rest, isOver) = await self.sendDue(by: client)
                if isOver { break }
                guard let rest, rest < alarm else { continue }
                alarm = rest
                timers.addTask {
                    await self.timepiece.rest(until: rest)
                    self.wake.yield()
                }
            }
            timers.cancelAll()
        }
        let left = self.state.withLock { state in
            let left = state.queue.clear()
            state.counts.dropped += UInt64(left)
            return left
        }
        if left > 0 {
            self.logger.warning("alerts were not delivered before shutdown", metadata: self.facts(dropped: left))
        }
        await client.shutDown()
    }

    /// - Returns: when to call it again, if an alert waits for a pause to end or a sum for its time, and whether this is
    ///   the end.
    private func sendDue(by client: AlertClient) async -> (rest: BootInstant?, isOver: Bool) {
        while !Task.isCancelled {
            let now = self.timepiece.now.boot
            var isFirstDropped = false
            var nextSum: BootInstant?
            typealias Turn = (DeliveryQueue<Alert>.Step, Int, WebhookTarget?, BootInstant?)
            let (step, expired, target, endsBy): Turn = self.state.withLock { state in
                isFirstDropped = state.addSums(now: now)
                nextSum = state.digest.nextDue
                if let endsBy = state.endsBy, now >= endsBy { return (.idle, 0, state.target, endsBy) }
                let (step, expired) = state.queue.next(now: now)
                state.counts.dropped += UInt64(expired)
                return (step, expired, state.target, state.endsBy)
            }
            if isFirstDropped { self.reportOverflow() }
            if expired > 0 {
                self.logger.warning("alerts could not be delivered in time", metadata: self.facts(dropped: expired))
            }
            switch step {
            case .idle: return (nextSum, endsBy != nil)
            case .rest(let until): return (until, false)
            case .send(let alert):
                let timeout = min(endsBy.map { now.duration(to: $0) } ?? self.pace.timeout, self.pace.timeout)
                var ending = AlertClient.Ending.failed("no_target")
                if let target { ending = await self.send(alert, to: target, by: client, timeout) }
                self.conclude(ending)
            }
        }
        return (nil, true)
    }

    private func send(
        _ alert: Alert,
        to target: WebhookTarget,
        by client: AlertClient,
        _ timeout: Duration
    ) async -> AlertClient.Ending {
        let body = alert.body(replica: self.replica)
        let signature = AlertSignature.value(of: body, at: self.timepiece.now.wall, secret: target.secret)
        return await client.post(body, signature: signature, to: target.url, timeout: timeout)
    }

    private func conclude(_ ending: AlertClient.Ending) {
        let now = self.timepiece.now.boot
        var facts = self.facts
        if case .taken = ending {
            let hadFailed = self.state.withLock { state in
                state.counts.delivered += 1
                return state.queue.delivered()
            }
            if hadFailed { self.logger.notice("the webhook takes alerts again", metadata: facts) }
            return
        }
        switch ending {
        case .refused(let status): facts["http.status"] = .stringConvertible(status)
        case .failed(let reason): facts["reason"] = "\(reason)"
        case .taken: break
        }
        let (isFirst, isGivenUp) = self.state.withLock { state in
            state.counts.failed += 1
            let outcome = state.queue.failed(jitter: .random(in: 0...1), now: now)
            if outcome.isGivenUp { state.counts.dropped += 1 }
            return outcome
        }
        if isFirst { self.logger.warning("the webhook does not take alerts, and is tried again", metadata: facts) }
        if isGivenUp { self.logger.warning("an alert was not told before the end", metadata: facts) }
    }

    private var facts: Logger.Metadata {
        self.state.withLock { $0.target }.map { ["url.host": "\($0.host)"] } ?? [:]
    }

    private func facts(dropped: Int) -> Logger.Metadata {
        var facts = self.facts
        facts["alerts.dropped"] = .stringConvertible(dropped)
        return facts
    }
}

/// The outcomes of alerts so far.
package struct WebhookCounts: Equatable, Sendable {
    package var delivered: UInt64 = 0
    /// Failed tries. The alert is tried again.
    package var failed: UInt64 = 0
    /// Alerts that were never delivered.
    package var dropped: UInt64 = 0

    package init() {}
}

/// Where alerts are posted, and the secret that signs them.
package struct WebhookTarget: Equatable, Sendable {
    package let url: String
    /// The name for log messages. They leave out the path, which may contain a secret.
    package let host: String
    package let secret: Secret

    package init(url: String, host: String, secret: Secret) {
        self.url = url
        self.host = host
        self.secret = secret
    }
}
