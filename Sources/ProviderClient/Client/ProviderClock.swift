internal import Logging
internal import OAuth
internal import Synchronization
internal import TokenModel

/// What a provider's `Date` fields say of its clock, against ours.
///
/// Signed assertions live for a minute: where the clocks part, they are dated by the one that judges them.
final class ProviderClock: Sendable {
    private struct State {
        /// What the provider's clock is ahead of ours.
        var difference = Duration.zero
        /// Whether that was told, so that it is told once.
        var isTold = false
    }

    /// A difference below this is the exchange itself, and a clock that rounds.
    private static let tolerance = Duration.seconds(10)
    private static let worthTelling = Duration.seconds(60)
    /// A provider that lies gets no assertion that is good long after now.
    private static let mostCorrected = Duration.seconds(600)

    private let state = Mutex(State())
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    /// `now` by the provider's clock, as far as it is known, and ten minutes off at most.
    func corrected(_ now: WallTime) -> WallTime {
        let difference = self.state.withLock { $0.difference }
        return now.advanced(by: min(max(difference, .zero - Self.mostCorrected), Self.mostCorrected))
    }

    /// Learns from an answer that was complete at `now`. Says once when the clocks part by more than a minute, and again
    /// after they had agreed.
    func learn(from outcome: ExchangeOutcome, now: WallTime) {
        guard case .responded(let answer) = outcome, let date = answer.date else { return }
        let difference = now.duration(to: date)
        let size = difference < .zero ? .zero - difference : difference
        // A field of whole seconds: more than sixty of them, as it stands there.
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
