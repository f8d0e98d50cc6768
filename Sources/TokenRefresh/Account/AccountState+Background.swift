package import TokenModel
internal import TokenStorage

/// Background refreshes, which no caller waits for.
extension AccountState {
    /// Records that a request has carried the access token of `tokenVersion`.
    ///
    /// - Returns: whether this is the first such request of the current token set.
    package mutating func used(_ tokenVersion: TokenVersion) -> Bool {
        guard self.usedTokenVersion != tokenVersion, self.snapshot?.tokenVersion == tokenVersion else { return false }
        self.usedTokenVersion = tokenVersion
        return true
    }

    /// When to refresh this account in the background; `nil` if it needs no background refresh or a flight is in
    /// progress.
    ///
    /// - Parameter random: draws evenly from 0 to 1; called once for each token set.
    package mutating func appointment(
        _ timing: RefreshTiming,
        now: BootInstant,
        random: () -> Double
    ) -> BootInstant? {
        guard self.flight == nil, self.unreadable == nil, let snapshot, let entry = snapshot.entry,
            let tokenVersion = snapshot.tokenVersion,
            entry.record.binding.match(self.binding) == .same
        else { return nil }
        if self.jitter?.of != tokenVersion {
            self.jitter = (tokenVersion, self.known?.jitter ?? random())
            self.known = nil
        }
        if let turnedAway { return turnedAway.since }
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

    /// Notes whether the account must wait for its turn at the provider.
    mutating func noteTurn(after outcome: FlightOutcome, now: BootInstant) {
        guard case .failed(let error) = outcome.result, error.restraint == .provider else {
            if !self.keepsTurn(after: outcome, now: now) { self.turnedAway = nil }
            return
        }
        let until = now.advanced(by: error.retryAfter ?? .zero)
        self.turnedAway = (self.turnedAway?.since ?? now, until, error)
    }

    /// Whether a flight has failed for a reason that concerns the provider as a whole, or the store, and has sent nothing.
    private func keepsTurn(after outcome: FlightOutcome, now: BootInstant) -> Bool {
        guard case .failed(let error) = outcome.result, outcome.uses == 0, outcome.failure == nil,
            self.snapshot?.retryAt.map({ $0 <= now }) ?? true
        else { return false }
        switch error.code {
        case .refreshFailed, .providerConfig, .storeLost: return error.restraint == nil
        case .overloaded, .locked, .approvalRequired: return false
        case .reauthorizationRequired, .accountEmpty, .accountUnreadable, .killed: return false
        }
    }

    /// Whether to ask a provider that refused the client again, since a reload has changed what the client sends.
    enum Retry: Sendable {
        case no, due
        /// A flight has begun since the reload.
        case underWay
    }

    /// Updates the retry after a flight. A flight does not count as a retry if it could not ask the provider, left the
    /// work to another process's claim, or began before the reload.
    mutating func endRetry(with outcome: FlightOutcome, now: BootInstant) {
        switch (self.retry, outcome.result) {
        case (_, .committed): self.retry = .no
        case (.no, _), (.due, _): break
        case (.underWay, .settled): self.retry = self.isClientRefused(at: now) ? .due : .no
        case (.underWay, .failed(let error)):
            switch error.code {
            case .refreshFailed, .providerConfig, .storeLost, .overloaded, .locked, .approvalRequired:
                self.retry = outcome.uses == 0 ? .due : .no
            case .reauthorizationRequired, .accountEmpty, .accountUnreadable, .killed: self.retry = .no
            }
        }
    }

    /// Begins the background flight that is due. Nobody waits for it yet.
    package mutating func keepAppointment() -> RefreshRequest? {
        guard self.flight == nil, let tokenVersion = self.snapshot?.tokenVersion else { return nil }
        let refresh = RefreshRequest(ripe: tokenVersion)
        self.flight = refresh
        return refresh
    }

    /// Sets the earliest moment of the next background refresh after a flight that left the token set unchanged.
    mutating func rest(after result: FlightOutcome.Result, wasBackground: Bool, now: BootInstant) {
        switch result {
        case .committed: return
        case .settled where !wasBackground: return
        case .settled, .failed: break
        }
        let record = self.snapshot?.entry?.record
        var pause = Self.shortestRest
        // A twentieth of the lifetime allows a few tries within the margin.
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

    /// Short enough to follow another process's claim without a gap (``ClaimWatch/longestGap``).
    private static var shortestRest: Duration { .seconds(1) }
    private static var longestRest: Duration { .seconds(30) }
    /// An unused token set is kept alive about once a day, so a longer rest does no harm.
    private static var longestRestUnused: Duration { .seconds(300) }
}

/// A backoff, or a wait that the provider asked for, that could not be written to the store. Only this process knows
/// it.
extension AccountState {
    /// Why no request is sent yet; `nil` if no unwritten backoff is in force.
    ///
    /// - Parameter version: the version of the record as it stands now. If it differs from the version at the failure,
    ///   another process has written since, and the record itself says how long to wait.
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
