internal import Logging
internal import OAuth
internal import Synchronization
internal import TokenModel

/// The difference between a provider's clock and ours, learned from the `Date` fields of its responses.
///
/// Signed assertions are valid for one minute. If the clocks differ, assertions are dated by the provider's clock,
/// because the provider judges them.
final class ProviderClock: Sendable {
    private struct State {
        /// How far the provider's clock is ahead of ours.
        var difference = Duration.zero
        /// Whether the difference was logged, so that it is logged only once.
        var isTold = false
    }

    /// A smaller difference may come from the exchange's duration and from rounding.
    private static let tolerance = Duration.seconds(10)
    private static let worthTelling = Duration.seconds(60)
    /// The maximum correction: a lying provider must not get an assertion that is valid long after now.
    private static let mostCorrected = Duration.seconds(600)

    private let state = Mutex(State())
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    /// `now` by the provider's clock as far as that is known, corrected by ten minutes at most.
    func corrected(_ now: WallTime) -> WallTime {
        let difference = self.state.withLock { $0.difference }
        return now.advanced(by: min(max(difference, .zero - Self.mostCorrected), Self.mostCorrected))
    }

    /// Learns from a response that was complete at `now`. Logs once if the clocks differ by more than a minute, and
    /// again if they differ after they agreed in between.
    func learn(from outcome: ExchangeOutcome, now: WallTime) {
        guard case .responded(let answer) = outcome, let date = answer.date else { return }
        let difference = now.duration(to: date)
        let size = difference < .zero ? .zero - difference : difference
        // `Date` has whole seconds, so the whole seconds of the difference must exceed 60.
        let isWorthTelling = size.components.seconds > Self.worthTelling.components.seconds
        let wasTold = self.state.withLock { state in
            defer { state.isTold = isWorthTelling }
            state.difference = size > Self.tolerance ? difference : .zero
            return state.isTold
        }
        guard isWorthTelling, !wasTold else { return }
        self.logger.warning(
            "provider's clock differs from ours by over a minute: one of them is wrong",
            metadata: ["clock.difference_seconds": .stringConvertible(difference.components.seconds)]
        )
    }
}
