package import TokenModel

/// Leaves a provider alone that fails whoever asks: after five failures in a row nothing is sent for 10 s, and then one
/// request, of another account than last time, finds out. A longer rest could outlast tokens that were good for a while
/// yet when the provider came back.
///
///     closed ──five failures in a row──▶ open ──10 s, one admitted──▶ probing
///       ▲                                 ▲ ▲                           │
///       │                                 │ └─────────failed────────────┤
///       │                                 └──no exchange, due at once───┤
///       └──────────────an answer, by whomever────────────────────────────┘
///
/// A failure is a flight that got no answer that counts: nothing could be sent, the answer was lost, something else answered
/// in the provider's place, or the provider said "later". The five are of at least two accounts: one account's trouble is not the others', and where there is but one,
/// its own backoff, which all replicas share and which is never longer than 30 s unless the provider asks for that, says
/// when it is tried again. A longer rest could let the provider's grace for a lost answer pass.
package struct ProviderBreaker: Equatable, Sendable {
    /// What a flight learned about the provider.
    package enum Lesson: Equatable, Sendable {
        /// It answered, whatever it said.
        case responded
        /// It could not be reached, gave no usable answer, or asked to wait.
        case failed
        /// Something else answered in its place.
        case notProvider
        /// There was no exchange.
        case nothing
    }

    /// What ``admit(_:of:isForced:now:)`` says.
    package enum Admission: Equatable, Sendable {
        case closed
        /// Admitted, as the one that finds out.
        case probe
        case open(retryAfter: Duration)
    }

    /// What is worth a line in the log.
    package enum Change: Equatable, Sendable { case opened, closed }

    /// Failures without an answer between them.
    private struct Row: Equatable {
        var failures = 0
        var first: AccountID?
        var isOfSeveral = false
    }

    private enum State: Equatable {
        case closed(Row)
        /// `last`: whose request failed last; `nil` where anybody may find out.
        case open(until: BootInstant, last: AccountID?)
        case probing(last: AccountID?)
    }

    private var state = State.closed(Row())
    /// Whether the last failure was something else's answer in the provider's place.
    package private(set) var isNotProvider = false

    package init() {}

    private static let mostFailures = 5
    private static let pause = Duration.seconds(10)
    /// How long an account that failed last lets the others go first. They may have nothing to ask.
    private static let precedence = Duration.seconds(5)
    private static let whileProbing = Duration.seconds(1)

    /// How long to wait before asking would help; `nil` where ``admit(_:of:isForced:now:)`` would let it go.
    ///
    /// - Parameters:
    ///   - accounts: how many the provider has.
    ///   - isForced: an operator wants to know now.
    package func obstacle(for account: AccountID, of accounts: Int, isForced: Bool, now: BootInstant) -> Duration? {
        switch self.state {
        case .closed: return nil
        case .open(let until, let last):
            let due = account == last && accounts > 1 ? until.advanced(by: Self.precedence) : until
            return isForced || now >= due ? nil : now.duration(to: due)
        case .probing: return Self.whileProbing
        }
    }

    /// Asks to send something. What is admitted must end in ``learned(_:of:probe:now:)``.
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

    /// Takes note of how an admitted flight ended.
    ///
    /// - Parameter probe: whether it had been admitted as the probe.
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
        // Begun before it opened: what they say was known.
        case (.failed, _), (.notProvider, _), (.nothing, _):
            return nil
        }
    }

    /// Lets anybody find out at once: the configuration was read again. A probe that is under way may be by the one before.
    package mutating func tryAgain(now: BootInstant) {
        switch self.state {
        case .closed: self.state = .closed(Row())
        case .open, .probing: self.state = .open(until: now, last: nil)
        }
    }

    /// Whether nothing is sent at the moment but a probe.
    package var isOpen: Bool {
        if case .closed = self.state { false } else { true }
    }

    /// When the next request may find out; `nil` where nothing is in its way, or one does so now.
    package var retryAt: BootInstant? {
        if case .open(let until, _) = self.state { until } else { nil }
    }
}
