package import TokenModel
internal import TokenStorage

/// When a provider's accounts are refreshed in the background.
package struct RefreshTiming: Equatable, Sendable {
    /// When an access token in use is replaced.
    package enum Mode: Sendable {
        /// Before it expires, by ``Freshness/margin(ofLifetime:)``.
        case ahead
        /// When it has expired. For providers where a refresh invalidates the old access token.
        case onExpiry
    }

    package var mode: Mode
    /// How long a refresh token may stay unused.
    package var keepAlive: Duration

    package init(mode: Mode = .ahead, keepAlive: Duration = .seconds(24 * 3_600)) {
        self.mode = mode
        self.keepAlive = keepAlive
    }

    /// The minimum age of a token set that is refreshed before its refresh token expires. At some providers a refresh
    /// token has a fixed end date that refreshes do not move. Without a minimum the refreshes would follow each other
    /// faster and faster as that date comes nearer.
    private static let leastAge = Duration.seconds(30)
    /// An account stays in use for at least this long after its token's end: thousands that expire together take a while at
    /// the provider's rate.
    private static let shortestUse = Duration.seconds(3_600)
    /// Refreshes that were due long ago, at a start after a long pause, are spread over this time.
    private static let longestSpread = Duration.seconds(600)

    /// When to refresh the token set of `snapshot`; `nil` if nothing requires a refresh or a refresh can't help.
    ///
    /// - Parameters:
    ///   - isUsed: whether a request has carried its access token.
    ///   - mints: whether the account mints its tokens, so that there is no refresh token to keep alive.
    ///   - jitter: drawn once for this token set, evenly from 0 to 1, so that replicas and accounts spread out.
    package func due(
        _ snapshot: RecordSnapshot,
        isUsed: Bool,
        mints: Bool = false,
        jitter: Double,
        now: BootInstant
    ) -> BootInstant? {
        guard let record = snapshot.entry?.record, let tokens = record.tokens else { return nil }
        var dues: [BootInstant] = []
        if isUsed, let due = self.dueForUse(tokens, snapshot, jitter: jitter, now: now) { dues.append(due) }
        if !mints {
            guard tokens.refreshToken != nil, record.failureRecord?.endsGrant != true else { return nil }
            dues.append(self.dueToKeepAlive(snapshot, jitter: jitter))
            if let due = Self.dueBeforeEnd(ofRefreshToken: tokens, snapshot, jitter: jitter) { dues.append(due) }
        }
        guard let due = dues.min() else { return nil }
        return snapshot.retryAt.map { max($0, due) } ?? due
    }

    /// By when the refresh token of `snapshot` should have been used; `nil` if that is still to come, or if there is no
    /// refresh token. A gateway that was locked or stopped for long has such tokens, until they are refreshed.
    package func overdueSince(_ snapshot: RecordSnapshot, now: BootInstant) -> BootInstant? {
        self.lastUse(of: snapshot).flatMap { $0 < now ? $0 : nil }
    }

    /// By when the refresh token of `snapshot` should be used; `nil` if there is none.
    package func lastUse(of snapshot: RecordSnapshot) -> BootInstant? {
        guard let tokens = snapshot.entry?.record.tokens, tokens.refreshToken != nil else { return nil }
        var last = snapshot.receivedAt.advanced(by: self.keepAlive)
        if self.mode == .onExpiry, let end = snapshot.freshness.usableUntil { last = max(last, end) }
        if let lifetime = tokens.refreshLifetime { last = min(last, snapshot.receivedAt.advanced(by: lifetime)) }
        return last
    }

    /// Whether an early refresh invalidates no access token that is still valid.
    package func mayReplace(_ snapshot: RecordSnapshot, now: BootInstant) -> Bool {
        switch self.mode {
        case .ahead: true
        case .onExpiry: !snapshot.freshness.isUsable(at: now)
        }
    }

    private func dueForUse(_ tokens: TokenSet, _ snapshot: RecordSnapshot, jitter: Double, now: BootInstant)
        -> BootInstant?
    {
        guard let end = snapshot.freshness.usableUntil else { return nil }
        let lifetime = min(max(tokens.lifetime, .zero), Freshness.longestLifetime)
        // The token could not be refreshed for a lifetime after its end, or an hour. The next caller waits for a refresh.
        guard now < end.advanced(by: max(lifetime, Self.shortestUse)) else { return nil }
        switch self.mode {
        case .ahead: return Self.early(end, margin: Freshness.margin(ofLifetime: lifetime), jitter)
        case .onExpiry: return end
        }
    }

    private func dueToKeepAlive(_ snapshot: RecordSnapshot, jitter: Double) -> BootInstant {
        let slack = self.keepAlive / 10 * jitter
        var due = snapshot.receivedAt.advanced(by: self.keepAlive - slack)
        if due < snapshot.firstSeenAt {
            due = snapshot.firstSeenAt.advanced(by: min(slack, Self.longestSpread * jitter))
        }
        if self.mode == .onExpiry, let end = snapshot.freshness.usableUntil { due = max(due, end) }
        return due
    }

    private static func dueBeforeEnd(
        ofRefreshToken tokens: TokenSet,
        _ snapshot: RecordSnapshot,
        jitter: Double
    ) -> BootInstant? {
        guard let lifetime = tokens.refreshLifetime else { return nil }
        let end = snapshot.receivedAt.advanced(by: lifetime)
        let early = Self.early(end, margin: Freshness.margin(ofLifetime: lifetime), jitter)
        let due = max(early, snapshot.receivedAt.advanced(by: Self.leastAge))
        return due < end ? due : nil
    }

    /// The time of an early refresh: up to a quarter of the margin after the start of the margin.
    private static func early(_ end: BootInstant, margin: Duration, _ jitter: Double) -> BootInstant {
        end.advanced(by: .zero - margin * (1 - jitter / 4))
    }
}
