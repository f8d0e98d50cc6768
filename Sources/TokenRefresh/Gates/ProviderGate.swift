package import TokenModel

/// Everything that controls one process's requests to a provider: the hold while the provider refuses the client, the
/// breaker while it fails, the limit on requests without a response, and the token bucket that spreads requests over
/// time.
///
///     queue ──▶ wait for the moment ──▶ admit ──▶ send ──▶ learned
///       └──refused                        └──refused
package struct ProviderGate: Sendable {
    /// Why no request is sent now.
    package enum Refusal: Equatable, Sendable {
        /// The provider refuses the client.
        case refusesClient(retryAfter: Duration)
        /// The provider fails for every account.
        case failing(retryAfter: Duration)
        /// The provider responds to nobody, and many requests wait for it.
        case unanswered(retryAfter: Duration)
        /// Another server responds in the provider's place, for every account.
        case notProvider(retryAfter: Duration)
        /// More requests are due than the rate allows.
        case crowded(retryAfter: Duration)
    }

    /// The result of ``queue(_:isForced:patience:now:)``.
    package enum Place: Equatable, Sendable {
        /// The request may be admitted from this moment on, and not before.
        case at(BootInstant)
        case refused(Refusal)
    }

    /// The proof of an admission. It must be passed to ``learned(_:_:by:of:now:)`` or ``withdraw(_:of:now:)`` in the
    /// end.
    package struct Ticket: Equatable, Sendable {
        /// Whether the request probes whether the provider accepts the client again.
        package let probesClient: Bool
        /// Whether the request probes whether the provider responds again.
        package let probesAnswer: Bool
        /// The configuration generation at the admission.
        fileprivate let configGeneration: UInt64
    }

    /// Changes that are worth a log entry.
    package struct Changes: Equatable, Sendable {
        /// `true` if the provider began to refuse the client, `false` if it accepts the client again.
        package var refusesClient: Bool?
        /// `true` if the breaker opened, `false` if the provider responds again.
        package var isFailing: Bool?

        package init(refusesClient: Bool? = nil, isFailing: Bool? = nil) {
            self.refusesClient = refusesClient
            self.isFailing = isFailing
        }
    }

    private var hold = ProviderHold()
    private var breaker = ProviderBreaker()
    private var bucket: RequestBucket
    private var unanswered = UnansweredRequests()
    private var accounts: Int
    /// How long callers wait for the provider.
    private var timeout: Duration
    private var isRateLimited = false
    /// Whether operators were told that another server responds in the provider's place, and the provider has not
    /// responded since.
    private var hasReportedNotProvider = false
    /// Since when ``isHeld`` is true; `nil` if it is false.
    package private(set) var heldSince: BootInstant?
    /// A random number, drawn anew for each gate and at each reload.
    private var configGeneration = UInt64.drawn(in: .min ... .max)

    /// - Parameters:
    ///   - accounts: the number of the provider's accounts.
    ///   - timeout: how long callers wait for the provider.
    package init(_ rate: RefreshRate, accounts: Int, timeout: Duration = .seconds(8)) {
        self.bucket = RequestBucket(rate)
        self.accounts = accounts
        self.timeout = timeout
    }

    /// Applies a new configuration. Holds may end, since the previous configuration may have caused them.
    package mutating func reload(
        _ rate: RefreshRate,
        accounts: Int,
        timeout: Duration = .seconds(8),
        now: BootInstant
    ) {
        self.timeout = timeout
        if rate != self.bucket.rate { self.bucket = RequestBucket(rate) }
        self.accounts = accounts
        self.configGeneration = .drawn(in: .min ... .max)
        self.hasReportedNotProvider = false
        self.hold.tryAgain(now: now)
        self.breaker.tryAgain(now: now)
        // With one account alone, no failure says anything about the provider as a whole.
        if accounts < 2 { self.breaker = ProviderBreaker() }
        self.noteHold(at: now)
    }

    /// Reserves a place in the queue of requests to send. A place that is not used must be given back.
    ///
    /// - Parameters:
    ///   - isForced: whether an operator asked for an immediate refresh.
    ///   - patience: how long the request can wait for its turn.
    ///   - backlog: how many requests were turned away before and come first.
    package mutating func queue(
        _ account: AccountID,
        isForced: Bool,
        patience: Duration,
        behind backlog: Int = 0,
        now: BootInstant
    ) -> Place {
        if let wait = self.hold.obstacle(isForced: isForced, now: now) {
            return .refused(.refusesClient(retryAfter: wait))
        }
        if let wait = self.breaker.obstacle(for: account, of: self.accounts, isForced: isForced, now: now) {
            return .refused(self.failing(wait))
        }
        if !isForced, let wait = self.unanswered.obstacle(timeout: self.timeout, now: now) {
            return .refused(.unanswered(retryAfter: wait))
        }
        if backlog == 0 || isForced, case .at(let moment) = self.bucket.take(patience: patience, now: now) {
            return .at(moment)
        }
        return .refused(.crowded(retryAfter: max(self.bucket.wait(behind: backlog, now: now), .seconds(1))))
    }

    /// How long the next request would have to wait for its turn.
    package func wait(now: BootInstant) -> Duration { self.bucket.wait(behind: 0, now: now) }

    /// Gives back an unused place.
    package mutating func giveBack() {
        self.bucket.giveBack()
    }

    /// Whether requests began (`true`) or stopped (`false`) waiting for their turn since the last call; `nil` without a
    /// change. Such a change is worth a log entry.
    ///
    /// - Parameter wait: the wait of the request that has just reserved a place.
    package mutating func crowding(wait: Duration, now: BootInstant) -> Bool? {
        if !self.isRateLimited, wait > .zero {
            self.isRateLimited = true
            return true
        }
        guard self.isRateLimited, self.bucket.isRelieved(at: now) else { return nil }
        self.isRateLimited = false
        return false
    }

    /// Asks for permission to send, at the moment that ``queue(_:isForced:patience:now:)`` returned.
    package mutating func admit(
        _ account: AccountID,
        isForced: Bool,
        now: BootInstant
    ) -> Result<Ticket, Refused> {
        if let wait = self.breaker.obstacle(for: account, of: self.accounts, isForced: isForced, now: now) {
            return .failure(Refused(refusal: self.failing(wait)))
        }
        if !isForced, let wait = self.unanswered.obstacle(timeout: self.timeout, now: now) {
            return .failure(Refused(refusal: .unanswered(retryAfter: wait)))
        }
        let byHold = self.hold.admit(isForced: isForced, now: now)
        if case .held(let wait) = byHold { return .failure(Refused(refusal: .refusesClient(retryAfter: wait))) }
        let byBreaker = self.breaker.admit(account, of: self.accounts, isForced: isForced, now: now)
        self.unanswered.admitted(now: now)
        return .success(
            Ticket(
                probesClient: byHold == .probe,
                probesAnswer: byBreaker == .probe,
                configGeneration: self.configGeneration
            )
        )
    }

    /// A ``Refusal`` as an `Error`.
    package struct Refused: Error, Equatable { package let refusal: Refusal }

    /// Cancels an admission whose request is not sent.
    package mutating func withdraw(_ ticket: Ticket, of account: AccountID, now: BootInstant) {
        _ = self.learned(.nothing, .nothing, by: ticket, of: account, now: now)
        self.giveBack()
    }

    /// Records that a token request of `account` is being sent.
    package mutating func sent(for account: AccountID, now: BootInstant) {
        self.unanswered.sent(for: account, now: now)
    }

    /// Records that the token request of `account` has ended.
    package mutating func ended(for account: AccountID, wasAnswered: Bool, now: BootInstant) {
        self.unanswered.ended(for: account, wasAnswered: wasAnswered, now: now)
    }

    /// Records how a flight ended.
    ///
    /// - Parameter ticket: `nil` for a flight that was not admitted.
    package mutating func learned(
        _ client: ProviderHold.Lesson,
        _ answer: ProviderBreaker.Lesson,
        by ticket: Ticket?,
        of account: AccountID,
        now: BootInstant
    ) -> Changes {
        guard let ticket else { return Changes() }
        var changes = Changes()
        // After a reload, another request may be the probe.
        let holdsPlace = ticket.configGeneration == self.configGeneration
        if self.hold.learned(client, probe: holdsPlace && ticket.probesClient, now: now) {
            changes.refusesClient = self.hold.isHeld
        }
        let change = self.breaker.learned(
            answer,
            of: account,
            probe: holdsPlace && ticket.probesAnswer,
            now: now
        )
        changes.isFailing = change.map { $0 == .opened }
        if answer == .responded { self.hasReportedNotProvider = false }
        self.noteHold(at: now)
        return changes
    }

    /// Records that operators are told that another server responds in the provider's place.
    ///
    /// - Returns: whether this is new.
    package mutating func reportNotProvider() -> Bool {
        defer { self.hasReportedNotProvider = true }
        return !self.hasReportedNotProvider
    }

    private func failing(_ wait: Duration) -> Refusal {
        self.breaker.isNotProvider ? .notProvider(retryAfter: wait) : .failing(retryAfter: wait)
    }

    private mutating func noteHold(at now: BootInstant) {
        self.heldSince = self.isHeld ? self.heldSince ?? now : nil
    }

    /// The provider's availability, for operators.
    package var availability: ProviderAvailability {
        if self.hold.isHeld { return .refusesClient(retryAt: self.hold.retryAt) }
        if self.breaker.isOpen {
            let retryAt = self.breaker.retryAt
            return self.breaker.isNotProvider ? .notProvider(retryAt: retryAt) : .failing(retryAt: retryAt)
        }
        return .answering
    }

    /// Whether the breaker is open because the provider fails.
    package var isFailing: Bool { self.breaker.isOpen }

    /// Whether nothing but a probe is sent at the moment.
    package var isHeld: Bool { self.availability != .answering }
}

/// Whether this process can send requests to a provider.
package enum ProviderAvailability: Equatable, Sendable {
    /// Nothing keeps requests from the provider.
    case answering
    /// The provider refuses the client and is asked again at `retryAt`; `nil` while a probe is in progress.
    case refusesClient(retryAt: BootInstant?)
    /// The provider failed five times in a row and is asked again at `retryAt`; `nil` while a probe is in progress.
    case failing(retryAt: BootInstant?)
    /// Like ``failing(retryAt:)``, but the last response came from another server in the provider's place.
    case notProvider(retryAt: BootInstant?)
}

extension ProviderAvailability {
    /// The availability in one word, for operators.
    package enum Word: String, Sendable {
        case answering
        case refusesClient = "refuses_client"
        case failing
        case notProvider = "not_provider"
    }

    package var word: Word {
        switch self {
        case .answering: .answering
        case .refusesClient: .refusesClient
        case .failing: .failing
        case .notProvider: .notProvider
        }
    }

    /// When the provider is asked again; `nil` if nothing keeps requests from it or a probe is in progress.
    package var retryAt: BootInstant? {
        switch self {
        case .answering: nil
        case .refusesClient(let retryAt), .failing(let retryAt), .notProvider(let retryAt): retryAt
        }
    }
}
