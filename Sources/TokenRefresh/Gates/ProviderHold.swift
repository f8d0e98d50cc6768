package import TokenModel

/// Limits requests to a provider while it refuses Martlet's own client: one probe after 30 s, then after twice the
/// interval each time, up to 5 min. The provider's accounts stay alive.
///
///     open ──refused──▶ held ──time over, one admitted──▶ probing ──accepted──▶ open
///                        ▲ ▲                                 │
///                        │ └────── refused, or no response ──┤
///                        └── nothing was sent, retry at once ┘
package struct ProviderHold: Equatable, Sendable {
    /// What a flight found out about the client registration.
    package enum Lesson: Equatable, Sendable {
        /// The provider's response concerned the grant, so it knows the client.
        case accepted
        /// The provider responded `invalid_client` or a similar error.
        case refused
        /// There was an exchange, but its result says nothing about the client.
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

    /// Asks for permission to send. Every admission must end in ``learned(_:probe:now:)``.
    ///
    /// - Parameter isForced: whether an operator asked for an immediate refresh.
    package mutating func admit(isForced: Bool = false, now: BootInstant) -> Admission {
        if let wait = self.obstacle(isForced: isForced, now: now) { return .held(retryAfter: wait) }
        guard case .held(_, let distance) = self.state else { return .open }
        self.state = .probing(distance: distance)
        return .probe
    }

    /// How long to wait before a request would help; `nil` if ``admit(isForced:now:)`` would admit it.
    package func obstacle(isForced: Bool, now: BootInstant) -> Duration? {
        switch self.state {
        case .open: nil
        case .held(let until, _): now >= until || isForced ? nil : now.duration(to: until)
        case .probing: .seconds(1)
        }
    }

    /// The result of ``admit(isForced:now:)``.
    package enum Admission: Equatable, Sendable {
        case open
        /// Admitted as the probe.
        case probe
        case held(retryAfter: Duration)
    }

    /// Lets the next request probe at once, after a reload of the configuration. A probe in progress may still use the
    /// previous configuration.
    package mutating func tryAgain(now: BootInstant) {
        switch self.state {
        case .open: return
        case .held(_, let distance), .probing(let distance): self.state = .held(until: now, distance: distance)
        }
    }

    /// Whether nothing but a probe is sent at the moment.
    package var isHeld: Bool { self.state != .open }

    /// When the next probe may be sent; `nil` if the hold is open or a probe is in progress.
    package var retryAt: BootInstant? {
        if case .held(let until, _) = self.state { until } else { nil }
    }

    /// Records how an admitted flight ended.
    ///
    /// - Parameter probe: whether the flight was admitted as the probe.
    /// - Returns: whether the state changed between held and open, which is worth a log entry.
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
