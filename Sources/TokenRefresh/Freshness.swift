package import TokenModel

/// The moment until which an access token may be used, on this process's own clock.
///
/// It is computed once, when this process first sees a token set. Later jumps of the wall clock change nothing. A token
/// is served until it expires and never after.
package struct Freshness: Equatable, Sendable {
    /// How this process got a token set.
    package enum Receipt: Equatable, Sendable {
        /// This process received the provider's response itself.
        case here(at: BootInstant)
        /// This process read the set from the store. Only the wall clock connects the writer's time with ours.
        case stored
    }

    /// From this moment on the token must not be used; `nil` if there is no access token.
    package let usableUntil: BootInstant?
    /// The stored times contradict our wall clock. The first use requests a refresh. If that fails, the token is served
    /// until ``usableUntil``, see ``believed``.
    package let isDoubtful: Bool

    /// Computes the freshness of a token set. No other code decides how long a token is usable.
    ///
    /// A stored receipt time is believed if it lies between 24 h before and 5 min after `now`. No lifetime is longer
    /// than 24 h, so a token from an older receipt has expired anyway. Whatever is stored, a token never gets more than
    /// its lifetime from now.
    package static func evaluate(_ tokens: TokenSet?, receipt: Receipt, now: Moment) -> Freshness {
        guard let tokens, tokens.accessToken != nil else {
            return Freshness(usableUntil: nil, isDoubtful: false)
        }
        let lifetime = min(max(tokens.lifetime, .zero), Self.longestLifetime)
        switch receipt {
        case .here(let receivedAt):
            return Freshness(usableUntil: receivedAt.advanced(by: lifetime), isDoubtful: false)
        case .stored:
            let left = now.wall.duration(to: tokens.receivedAt.advanced(by: lifetime))
            let believable =
                tokens.receivedAt >= now.wall.advanced(by: .zero - Self.longestLifetime)
                && tokens.receivedAt <= now.wall.advanced(by: Self.clockSkew)
            return Freshness(usableUntil: now.boot.advanced(by: min(left, lifetime)), isDoubtful: !believable)
        }
    }

    /// How long before its expiry a token is replaced in the background: the larger of 60 s and a fifth of its
    /// lifetime, but never more than half of it.
    package static func margin(ofLifetime lifetime: Duration) -> Duration {
        min(max(.seconds(60), lifetime / 5), lifetime / 2)
    }

    /// The longest lifetime that a token is credited with, whatever a provider or an import says.
    package static let longestLifetime = Duration.seconds(24 * 3_600)
    /// How far another machine's wall clock may run ahead of ours.
    private static let clockSkew = Duration.seconds(5 * 60)

    /// The same end without the doubt. Used after the refresh that was to resolve the doubt has failed.
    package var believed: Freshness { Freshness(usableUntil: self.usableUntil, isDoubtful: false) }

    /// Whether the token may be put into a request at `moment`, doubtful or not.
    package func isUsable(at moment: BootInstant) -> Bool {
        self.usableUntil.map { moment < $0 } ?? false
    }
}
