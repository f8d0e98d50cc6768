package import TokenModel

/// A circuit breaker for a provider that fails for every account. After five failures in a row it sends nothing for
/// 10 s. Then one request probes the provider; it belongs to another account than the one that failed last. A longer
/// pause could last until tokens expire that were still valid when the provider came back.
///
///     closed ──five failures in a row──▶ open ──10 s, one admitted──▶ probing
///       ▲                                 ▲ ▲                           │
///       │                                 │ └─────────failed────────────┤
///       │                                 └──no exchange, retry at once─┤
///       └──────────────a response, for any account──────────────────────┘
///
/// A failure is a flight without a usable response: nothing could be sent, the response was lost, another server
/// responded in the provider's place, or the provider asked us to retry later. The five failures belong to at least two
/// accounts, since a problem of one account says nothing about the others. If the provider has only one account, that
/// account's own backoff decides when to retry. All replicas share this backoff, and it is never longer than 30 s
/// unless the provider asks for more. A longer pause could outlast the provider's grace period for a lost response.
package struct ProviderBreaker: Equatable, Sendable {
    /// What a flight found out about the provider.
    package enum Lesson: Equatable, Sendable {
        /// The provider responded, with whatever content.
        case responded
        /// The provider could not be reached, gave no usable response, or asked us to wait.
        case failed
        /// Another server responded in the provider's place.
        case notProvider
        /// There was no exchange.
        case nothing
    }

    /// The result of ``admit(_:of:isForced:now:)``.
    package enum Admission: Equatable, Sendable {
        case closed
        /// Admitted as the probe.
        case probe
        case open(retryAfter: Duration)
    }

    /// A change that is worth a log entry.
    package enum Change: Equatable, Sendable { case opened, closed }

    /// Consecutive failures without a response between them.
    private struct Row: Equatable {
        var failures = 0
        var first: AccountID?
        var isOfSeveral = false
    }

    private enum State: Equatable {
        case closed(Row)
        /// `last` is the account whose request failed last; `nil` if any account may probe.
        case open(until: BootInstant, last: AccountID?)
        case probing(last: AccountID?)
    }

    private var state = State.closed(Row())
    /// Whether the last failure was a response from another server in the provider's place.
    package private(set) var isNotProvider = false

    package init() {}

    private static let mostFailures = 5
    private static let pause = Duration.seconds(10)
    /// How long the account that failed last lets other accounts go first. The others may have nothing to send.
    private static let precedence = Duration.seconds(5)
    private static let whileProbing = Duration.seconds(1)

    /// How long to wait before a request would help; `nil` if ``admit(_:of:isForced:now:)`` would admit it.
    ///
    /// - Parameters:
    ///   - accounts: the number of the provider's accounts.
    ///   - isForced: whether an operator asked for an immediate refresh.
    package func obstacle(for account: AccountID, of accounts: Int, isForced: Bool, now: BootInstant) -> Duration? {
        switch self.state {
        case .closed: return nil
        case .open(let until, let last):
            let due = account == last && accounts > 1 ? until.advanced(by: Self.precedence) : until
            return isForced || now >= due ? nil : now.duration(to: due)
        case .probing: return Self.whileProbing
        }
    }

    /// Asks for permission to send. Every admission must end in ``learned(_:of:probe:now:)``.
    package mutating func admit(
        _ account: AccountID,
        of accounts: Int,
        isForced: Bool = false,
        now: BootInstant
    ) -> Admission {
        if let wait = self.obstacle(for: account, of: accounts, isForced: isForced, now: now) {
            return .open(retryAfter: wait)
        }
        guard case .open(_, let last) = self.state else { return .closed }
        self.state = .probing(last: last)
        return .probe
    }

    /// Records how an admitted flight ended.
    ///
    /// - Parameter probe: whether the flight was admitted as the probe.
    package mutating func learned(
        _ lesson: Lesson,
        of account: AccountID,
        probe: Bool,
        now: BootInstant
    ) -> Change? {
        if lesson == .failed || lesson == .notProvider { self.isNotProvider = lesson == .notProvider }
        switch (lesson, self.state) {
        case (.responded, .closed):
            self.state = .closed(Row())
            return nil
        case (.responded, _):
            self.state = .closed(Row())
            return .closed
        case (.failed, .closed(var row)), (.notProvider, .closed(var row)):
            row.failures = min(row.failures + 1, Self.mostFailures)
            row.isOfSeveral = row.isOfSeveral || row.first.map { $0 != account } ?? false
            row.first = row.first ?? account
            guard row.failures >= Self.mostFailures, row.isOfSeveral else {
                self.state = .closed(row)
                return nil
            }
            self.state = .open(until: now.advanced(by: Self.pause), last: account)
            return .opened
        case (.failed, .probing) where probe, (.notProvider, .probing) where probe:
            self.state = .open(until: now.advanced(by: Self.pause), last: account)
            return nil
        case (.nothing, .probing(let last)) where probe:
            self.state = .open(until: now, last: last)
            return nil
        // These flights began before the breaker opened. Their failures are no news.
        case (.failed, _), (.notProvider, _), (.nothing, _):
            return nil
        }
    }

    /// Lets any account probe at once, after a reload of the configuration. A probe in progress may still use the
    /// previous configuration.
    package mutating func tryAgain(now: BootInstant) {
        switch self.state {
        case .closed: self.state = .closed(Row())
        case .open, .probing: self.state = .open(until: now, last: nil)
        }
    }

    /// Whether nothing but a probe is sent at the moment.
    package var isOpen: Bool {
        if case .closed = self.state { false } else { true }
    }

    /// When the next request may probe; `nil` if the breaker is closed or a probe is in progress.
    package var retryAt: BootInstant? {
        if case .open(let until, _) = self.state { until } else { nil }
    }
}
