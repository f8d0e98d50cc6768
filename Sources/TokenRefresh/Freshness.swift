package import TokenModel

/// Until when an access token may be used, counted on this process's own clock.
///
/// Judged once, when a token set is first seen, and kept: later jumps of the wall clock change nothing. A token is
/// served until it expires and never after.
package struct Freshness: Equatable, Sendable {
    /// How this process came by a token set.
    package enum Receipt: Equatable, Sendable {
        /// It received the provider's answer itself.
        case here(at: BootInstant)
        /// It read the set from the store; only the wall clock connects the writer's time with ours.
        case stored
    }

    /// From this moment on the token must not be used; `nil` where there is no access token.
    package let usableUntil: BootInstant?
    /// The stored times can't be right by our wall clock. The first use asks for a refresh; if that fails, the token
    /// is served until ``usableUntil``, see ``believed``.
    package let isDoubtful: Bool

    /// The one judgement of usability that everything goes by.
    ///
    /// A stored receipt is believed between 24 h ago (no lifetime is longer, so that an older one has expired anyway)
    /// and 5 min ahead of `now`. Whatever is stored, a token never gets more than its lifetime from now.
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

    /// How long before a token's end it is replaced where nobody is to wait for that: the larger of 60 s and a fifth of
    /// its lifetime, but never more than half of it.
    package static func margin(ofLifetime lifetime: Duration) -> Duration {
        min(max(.seconds(60), lifetime / 5), lifetime / 2)
    }

    /// No token is believed to live longer, whatever a provider or an import says.
    package static let longestLifetime = Duration.seconds(24 * 3_600)
    /// How far another machine's wall clock may run ahead of ours.
    private static let clockSkew = Duration.seconds(5 * 60)

    /// The same end without the doubt, for when a refresh that was to settle it has failed.
    package var believed: Freshness { Freshness(usableUntil: self.usableUntil, isDoubtful: false) }

    /// Whether the token may be written at `moment`, doubtful or not.
    package func isUsable(at moment: BootInstant) -> Bool {
        self.usableUntil.map { moment < $0 } ?? false
    }
}
