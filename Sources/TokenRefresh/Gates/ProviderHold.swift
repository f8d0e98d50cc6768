package import TokenModel

/// Keeps a provider from being asked again and again while it refuses Martlet's own client: one probe after 30 s, and
/// then at twice the distance each time, up to 5 min. The provider's accounts stay alive.
///
///     open ──refused──▶ held ──time over, one admitted──▶ probing ──accepted──▶ open
///                        ▲ ▲                                 │
///                        │ └──────── refused, or no answer ──┤
///                        └──── nothing was sent, due at once ┘
package struct ProviderHold: Equatable, Sendable {
    /// What a flight learned about the client registration.
    package enum Lesson: Equatable, Sendable {
        /// The provider answered about the grant: it knows the client.
        case accepted
        /// `invalid_client` and its kin.
        case refused
        /// There was an exchange, and nothing in it says anything about the client.
        case silence
        /// There was no exchange.
        case nothing
    }

    private enum State: Equatable {
        case open
        case held(until: BootInstant, distance: Duration)
        case probing(distance: Duration)
    }

    private var state = State.open

    package init() {}

    private static let firstDistance = Duration.seconds(30)
    private static let longestDistance = Duration.seconds(300)

    /// Asks to send something. What is admitted must end in ``learned(_:probe:now:)``.
    ///
    /// - Parameter isForced: an operator wants to know now.
    package mutating func admit(isForced: Bool = false, now: BootInstant) -> Admission {
        if let wait = self.obstacle(isForced: isForced, now: now) { return .held(retryAfter: wait) }
        guard case .held(_, let distance) = self.state else { return .open }
        self.state = .probing(distance: distance)
        return .probe
    }

    /// How long to wait before asking would help; `nil` where ``admit(isForced:now:)`` would let it go.
    package func obstacle(isForced: Bool, now: BootInstant) -> Duration? {
        switch self.state {
        case .open: nil
        case .held(let until, _): now >= until || isForced ? nil : now.duration(to: until)
        case .probing: .seconds(1)
        }
    }

    /// What ``admit(now:)`` says.
    package enum Admission: Equatable, Sendable {
        case open
        /// Admitted, as the one that finds out.
        case probe
        case held(retryAfter: Duration)
    }

    /// Lets the next one probe at once: the configuration was read again. A probe that is under way may be by the one
    /// before.
    package mutating func tryAgain(now: BootInstant) {
        switch self.state {
        case .open: return
        case .held(_, let distance), .probing(let distance): self.state = .held(until: now, distance: distance)
        }
    }

    /// Whether nothing is sent at the moment but a probe.
    package var isHeld: Bool { self.state != .open }

    /// When the next probe may go; `nil` where nothing is in its way, or one is under way.
    package var retryAt: BootInstant? {
        if case .held(let until, _) = self.state { until } else { nil }
    }

    /// Takes note of how an admitted flight ended.
    ///
    /// - Parameter probe: whether it had been admitted as the probe.
    /// - Returns: whether this changed between held and open: worth a line in the log.
    package mutating func learned(_ lesson: Lesson, probe: Bool, now: BootInstant) -> Bool {
        switch (lesson, self.state) {
        case (.accepted, .open):
            return false
        case (.accepted, _):
            self.state = .open
            return true
        case (.refused, .open):
            self.hold(Self.firstDistance, now: now)
            return true
        case (.refused, .probing(let distance)) where probe:
            self.hold(min(distance * 2, Self.longestDistance), now: now)
            return false
        case (.silence, .probing(let distance)) where probe:
            self.hold(distance, now: now)
            return false
        case (.nothing, .probing(let distance)) where probe:
            self.state = .held(until: now, distance: distance)
            return false
        case (.refused, _), (.silence, _), (.nothing, _):
            return false
        }
    }

    private mutating func hold(_ distance: Duration, now: BootInstant) {
        self.state = .held(until: now.advanced(by: distance), distance: distance)
    }
}
