package import TokenModel

/// All that stands in one process between a provider's accounts and a request to it: the hold while it refuses the client,
/// the breaker while it fails, the bound on requests that it does not answer, and the bucket that spreads requests.
///
///     queue ──▶ wait for the moment ──▶ admit ──▶ send ──▶ learned
///       └──refused                        └──refused
package struct ProviderGate: Sendable {
    /// Why nothing is sent now.
    package enum Refusal: Equatable, Sendable {
        /// The provider refuses the client.
        case refusesClient(retryAfter: Duration)
        /// It fails, whoever asks.
        case failing(retryAfter: Duration)
        /// It answers nobody, and many wait for it.
        case unanswered(retryAfter: Duration)
        /// Something else answers in its place, whoever asks.
        case notProvider(retryAfter: Duration)
        /// More is due than may be sent.
        case crowded(retryAfter: Duration)
    }

    /// What ``queue(_:isForced:patience:now:)`` says.
    package enum Place: Equatable, Sendable {
        /// To be admitted at this moment, not before.
        case at(BootInstant)
        case refused(Refusal)
    }

    /// What was admitted must end with it in ``learned(_:_:by:of:now:)`` or ``withdraw(_:of:now:)``.
    package struct Ticket: Equatable, Sendable {
        /// Finds out whether the provider takes the client again.
        package let probesClient: Bool
        /// Finds out whether the provider answers again.
        package let probesAnswer: Bool
        /// Of the configuration that it was given under.
        fileprivate let configGeneration: UInt64
    }

    /// What is worth a line in the log.
    package struct Changes: Equatable, Sendable {
        /// The provider began to refuse the client (`true`), or takes it again.
        package var refusesClient: Bool?
        /// It was given up for a while (`true`), or answers again.
        package var isFailing: Bool?

        package init(refusesClient: Bool? = nil, isFailing: Bool? = nil) {
            self.refusesClient = refusesClient
            self.isFailing = isFailing
        }
    }

    private var hold = ProviderHold()
    private var breaker = ProviderBreaker()
    private var bucket: RefreshBucket
    private var unanswered = UnansweredRequests()
    private var accounts: Int
    /// How long callers wait for the provider.
    private var timeout: Duration
    private var isCrowded = false
    /// Operators were told that something else answers in the provider's place, and the provider has not answered since.
    private var isToldNotProvider = false
    /// Since when ``isHeld``; `nil` where it is not.
    package private(set) var heldSince: BootInstant?
    /// Another after each reload, and of each gate.
    private var configGeneration = UInt64.random(in: .min ... .max)

    /// - Parameters:
    ///   - accounts: how many the provider has.
    ///   - timeout: how long callers wait for it.
    package init(_ rate: RefreshRate, accounts: Int, timeout: Duration = .seconds(8)) {
        self.bucket = RefreshBucket(rate)
        self.accounts = accounts
        self.timeout = timeout
    }

    /// Goes by what the configuration says now; whatever was in the way may have come of the one before.
    package mutating func reload(
        _ rate: RefreshRate,
        accounts: Int,
        timeout: Duration = .seconds(8),
        now: BootInstant
    ) {
        self.timeout = timeout
        if rate != self.bucket.rate { self.bucket = RefreshBucket(rate) }
        self.accounts = accounts
        self.configGeneration = .random(in: .min ... .max)
        self.isToldNotProvider = false
        self.hold.tryAgain(now: now)
        self.breaker.tryAgain(now: now)
        // Of one account alone no failure says anything of the provider.
        if accounts < 2 { self.breaker = ProviderBreaker() }
        self.noteHold(at: now)
    }

    /// Takes a place among what is to be sent. One that is not used must be given back.
    ///
    /// - Parameters:
    ///   - isForced: an operator wants to know now.
    ///   - patience: how long the request can wait for its moment.
    package mutating func queue(
        _ account: AccountID,
        isForced: Bool,
        patience: Duration,
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
        switch self.bucket.take(patience: patience, now: now) {
        case .at(let moment): return .at(moment)
        case .none(let wait): return .refused(.crowded(retryAfter: max(wait, .seconds(1))))
        }
    }

    /// Gives a place back that is not used.
    package mutating func giveBack() {
        self.bucket.giveBack()
    }

    /// Whether requests began, or ceased, to wait for their moment since this was asked last: worth a line in the log.
    ///
    /// - Parameter wait: of the one that has just taken a place.
    package mutating func crowding(wait: Duration, now: BootInstant) -> Bool? {
        if !self.isCrowded, wait > .zero {
            self.isCrowded = true
            return true
        }
        guard self.isCrowded, self.bucket.isRelieved(at: now) else { return nil }
        self.isCrowded = false
        return false
    }

    /// Asks to send, when the moment has come.
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

    /// A ``Refusal`` where an error is asked for.
    package struct Refused: Error, Equatable { package let refusal: Refusal }

    /// What was admitted is not sent after all.
    package mutating func withdraw(_ ticket: Ticket, of account: AccountID, now: BootInstant) {
        _ = self.learned(.nothing, .nothing, by: ticket, of: account, now: now)
        self.giveBack()
    }

    /// A token request of `account` is on its way.
    package mutating func sent(for account: AccountID, now: BootInstant) {
        self.unanswered.sent(for: account, now: now)
    }

    /// It is over.
    package mutating func ended(for account: AccountID, wasAnswered: Bool, now: BootInstant) {
        self.unanswered.ended(for: account, wasAnswered: wasAnswered, now: now)
    }

    /// Takes note of how a flight ended.
    ///
    /// - Parameter ticket: `nil` for one that was not admitted.
    package mutating func learned(
        _ client: ProviderHold.Lesson,
        _ answer: ProviderBreaker.Lesson,
        by ticket: Ticket?,
        of account: AccountID,
        now: BootInstant
    ) -> Changes {
        guard let ticket else { return Changes() }
        var changes = Changes()
        // A reload has given a probe's place to the next one.
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
        if answer == .responded { self.isToldNotProvider = false }
        self.noteHold(at: now)
        return changes
    }

    /// Takes note that operators are told that something else answers in the provider's place.
    ///
    /// - Returns: whether that is new.
    package mutating func tellsNotProvider() -> Bool {
        defer { self.isToldNotProvider = true }
        return !self.isToldNotProvider
    }

    private func failing(_ wait: Duration) -> Refusal {
        self.breaker.isNotProvider ? .notProvider(retryAfter: wait) : .failing(retryAfter: wait)
    }

    private mutating func noteHold(at now: BootInstant) {
        self.heldSince = self.isHeld ? self.heldSince ?? now : nil
    }

    /// What an operator is told of the provider.
    package var availability: ProviderAvailability {
        if self.hold.isHeld { return .refusesClient(retryAt: self.hold.retryAt) }
        if self.breaker.isOpen {
            let retryAt = self.breaker.retryAt
            return self.breaker.isNotProvider ? .notProvider(retryAt: retryAt) : .failing(retryAt: retryAt)
        }
        return .answering
    }

    /// Whether it was given up for a while, since it fails.
    package var isFailing: Bool { self.breaker.isOpen }

    /// Whether nothing is sent at the moment but a probe.
    package var isHeld: Bool { self.availability != .answering }
}
