package import TokenModel
internal import TokenStorage

/// Refreshes that nobody waits for.
extension AccountState {
    /// A request has carried the access token of `tokenVersion`.
    ///
    /// - Returns: whether that is news.
    package mutating func used(_ tokenVersion: TokenVersion) -> Bool {
        guard self.usedTokenVersion != tokenVersion, self.snapshot?.tokenVersion == tokenVersion else { return false }
        self.usedTokenVersion = tokenVersion
        return true
    }

    /// When this account is to be refreshed in the background; `nil` where it is not, or a flight is under way.
    ///
    /// - Parameter random: draws evenly from 0 to 1, once for each token set.
    package mutating func appointment(
        _ timing: RefreshTiming,
        now: BootInstant,
        random: () -> Double
    ) -> BootInstant? {
        guard self.flight == nil, self.unreadable == nil, let snapshot, let entry = snapshot.entry,
            let tokenVersion = snapshot.tokenVersion,
            entry.record.binding.match(self.binding) == .same
        else { return nil }
        if self.jitter?.of != tokenVersion { self.jitter = (tokenVersion, random()) }
        let due = timing.due(
            snapshot,
            isUsed: self.usedTokenVersion == tokenVersion,
            mints: self.mints,
            jitter: self.jitter?.value ?? 0,
            now: now
        )
        let hasMeans =
            self.mints || entry.record.tokens?.refreshToken != nil && entry.record.failureRecord?.endsGrant != true
        let retry = self.retry == .due && hasMeans && timing.mayReplace(snapshot, now: now) ? now : nil
        return [due, retry].compactMap { $0 }.min().map { max($0, self.restsUntil) }
    }

    /// Whether the provider is to be asked by what a reload has put in place of the client's means that it refused.
    enum Retry: Sendable {
        case no, due
        /// A flight has begun since.
        case underWay
    }

    /// A flight has ended. One that could not ask is no try, nor one that left it to another process's, nor one that had begun
    /// before the reload.
    mutating func endRetry(with outcome: FlightOutcome, now: BootInstant) {
        switch (self.retry, outcome.result) {
        case (_, .committed): self.retry = .no
        case (.no, _), (.due, _): break
        case (.underWay, .settled): self.retry = self.isClientRefused(at: now) ? .due : .no
        case (.underWay, .failed(let error)):
            switch error.code {
            case .refreshFailed, .providerConfig, .storeLost, .overloaded: self.retry = outcome.uses == 0 ? .due : .no
            case .reauthorizationRequired, .accountEmpty, .accountUnreadable, .killed: self.retry = .no
            }
        }
    }

    /// Begins the flight that an appointment was made for; nobody waits for it yet.
    package mutating func keepAppointment() -> RefreshRequest? {
        guard self.flight == nil, let tokenVersion = self.snapshot?.tokenVersion else { return nil }
        let refresh = RefreshRequest(ripe: tokenVersion)
        self.flight = refresh
        return refresh
    }

    /// A flight has left the token set as it was: the record says how long to wait, or nobody does.
    mutating func rest(after result: FlightOutcome.Result, wasErrand: Bool, now: BootInstant) {
        switch result {
        case .committed: return
        case .settled where !wasErrand: return
        case .settled, .failed: break
        }
        let record = self.snapshot?.entry?.record
        var pause = Self.shortestRest
        // A twentieth of the lifetime leaves a few tries within the margin.
        if self.usedTokenVersion != self.snapshot?.tokenVersion {
            let lifetime = record?.tokens?.refreshLifetime ?? Self.longestRestUnused * 20
            pause = max(pause, min(lifetime / 20, Self.longestRestUnused))
        } else if record?.claim == nil || result != .settled {
            let lifetime = record?.tokens?.lifetime ?? .zero
            pause = max(pause, min(lifetime / 20, Self.longestRest))
        }
        if case .failed(let error) = result, let retryAfter = error.retryAfter { pause = max(pause, retryAfter) }
        self.restsUntil = now.advanced(by: pause)
    }

    /// Often enough to follow another process's claim without a gap (``ClaimWatch/longestGap``).
    private static var shortestRest: Duration { .seconds(1) }
    private static var longestRest: Duration { .seconds(30) }
    /// A day's keeping alive is not at stake.
    private static var longestRestUnused: Duration { .seconds(300) }
}

/// A backoff, or a wait that the provider asked for, that the store did not take: this process alone knows of it.
extension AccountState {
    /// Why nothing is sent yet; `nil` where nothing of this kind is in the way.
    ///
    /// - Parameter version: of the record as it stands. Where that is another than was left there, somebody has written
    ///   since, and the record says itself how long to wait.
    package func unwrittenObstacle(in version: Version?, now: BootInstant) -> CredentialError? {
        guard let unwritten, unwritten.version == version, now < unwritten.until else { return nil }
        return unwritten.error.with(retryAfter: now.duration(to: unwritten.until))
    }

    mutating func keepUnwritten(of outcome: FlightOutcome, now: BootInstant) {
        guard let error = outcome.unwritten, let wait = error.retryAfter, let version = outcome.snapshot?.entry?.version
        else { return }
        self.unwritten = (error, version, now.advanced(by: wait))
    }
}
