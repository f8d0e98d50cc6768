package import TokenModel
package import TokenStorage

/// The effects of a record that was read or written on the waiters.
extension AccountState {
    /// Takes a flight's outcome. Every waiter either gets a result or waits for the one further flight that it needs.
    ///
    /// - Parameter obstacle: the error for waiters that need another flight when no flight may start any more.
    package mutating func land(
        _ outcome: FlightOutcome,
        unless obstacle: CredentialError? = nil,
        now: BootInstant
    ) -> Landing {
        let wasForced = self.flight?.isForced ?? false
        let wasBackground = self.flight?.ripe != nil
        self.flight = nil
        let tokenVersionBefore = self.snapshot?.tokenVersion
        self.watch = outcome.watch
        if let snapshot = outcome.snapshot, self.isNewer(snapshot.entry) {
            self.accept(snapshot)
        }
        if self.snapshot?.tokenVersion == tokenVersionBefore {
            self.rest(after: outcome.result, wasBackground: wasBackground, now: now)
        }
        switch outcome.result {
        case .committed, .settled:
            self.lastError = nil
            self.failedAt = nil
            self.finding = nil
        case .failed(let error):
            self.lastError = error
            self.failedAt = now
            if outcome.tells(of: error) { self.finding = error }
            if error.code == .accountUnreadable { self.unreadable = error }
            // The refresh that was to resolve a doubt about the stored times has failed.
            if let freshness = self.snapshot?.freshness { self.snapshot?.freshness = freshness.believed }
        }
        self.noteTurn(after: outcome, now: now)
        self.keepUnwritten(of: outcome, now: now)
        self.noteIssue(at: now)
        self.endRetry(with: outcome, now: now)
        var landing = Landing(event: self.announcement(now: now))
        for (id, waiting) in self.waiting.sorted(by: { $0.key < $1.key }) {
            let result = self.result(of: waiting, after: outcome.result, wasForced: wasForced, now: now)
            if result == nil, obstacle == nil {
                let refresh = self.refresh(of: waiting.request, now: now)
                landing.start = RefreshRequest(
                    refused: landing.start?.refused ?? refresh.refused,
                    isForced: landing.start?.isForced ?? false || refresh.isForced
                )
            } else {
                self.waiting[id] = nil
                landing.served.append(
                    Served(waiter: waiting.waiter, result: result ?? .failure(obstacle ?? .stopping(self.account)))
                )
            }
        }
        self.flight = landing.start
        return landing
    }

    /// Takes a record that was read because it may have changed. Serves the waiters that its token satisfies.
    package mutating func observe(_ entry: AccountVault.Entry?, now: Moment) -> Landing {
        guard self.isNewer(entry) else { return Landing() }
        self.accept(RecordSnapshot(entry, after: self.snapshot, knownSince: self.known?.firstSeenAt, now: now))
        return self.serveUsable(now: now.boot)
    }

    /// Takes a record that is valid although it is older than the known one, since the store has lost the known one.
    ///
    /// - Parameter known: the record that `entry` was compared with. Nothing changes if this process has learned of
    ///   another record since.
    package mutating func fallBack(
        to entry: AccountVault.Entry?,
        from known: AccountVault.Entry,
        now: Moment
    ) -> Landing {
        guard self.snapshot?.entry == known else { return Landing() }
        self.accept(RecordSnapshot(entry, after: self.snapshot, knownSince: self.known?.firstSeenAt, now: now))
        self.fellAt = self.revision
        return self.serveUsable(now: now.boot)
    }

    /// Takes a record that this process has just written.
    ///
    /// - Parameter isStored: `false` if only the journal has the record so far, and not the store.
    package mutating func replace(
        _ entry: AccountVault.Entry,
        receipt: Freshness.Receipt,
        isStored: Bool = true,
        now: Moment
    ) -> Landing {
        guard self.isNewer(entry) else { return Landing() }
        self.accept(RecordSnapshot(entry, after: self.snapshot, receipt: receipt, now: now), isStored: isStored)
        return self.serveUsable(now: now.boot)
    }

    /// Records that the record can't be decrypted or parsed.
    ///
    /// - Returns: whether this is new.
    package mutating func observeUnreadable(_ error: CredentialError) -> Bool {
        defer { self.unreadable = error }
        return self.unreadable == nil
    }

    /// Whether `entry` is newer than the known record. Reads overtake one another, so an older version than the known
    /// one is ignored. A later version with an older token set of the same grant is ignored too: the store has fallen
    /// back, and the refresh token in that record has been rotated away.
    private func isNewer(_ entry: AccountVault.Entry?) -> Bool {
        guard let known = self.snapshot?.entry else { return true }
        guard let entry, entry.version >= known.version else { return false }
        return entry.record.grant != known.record.grant || entry.record.generation >= known.record.generation
    }

    private mutating func accept(_ snapshot: RecordSnapshot, isStored: Bool = true) {
        // The token set is another one, or was adopted for another client. Earlier failures say nothing about it.
        if self.snapshot?.tokenVersion != snapshot.tokenVersion
            || !Self.isOfOneClient(self.snapshot?.entry?.record, snapshot.entry?.record)
        {
            self.lastError = nil
            self.failedAt = nil
            self.finding = nil
            self.reportedOutages = []
            self.restsUntil = .distantPast
            self.issueSince = nil
            self.retry = .no
            self.turnedAway = nil
            self.touchedAt = snapshot.readAt
        }
        let known = self.snapshot
        // Tokens of a new grant have no refreshes behind them.
        if let tokenVersion = known?.tokenVersion, tokenVersion.grant != snapshot.tokenVersion?.grant {
            self.limit = RefreshLimit()
        }
        self.snapshot = snapshot
        self.revision += 1
        // `since` is the revision at which the entry was first seen, however often it is read again.
        if isStored, self.stored == nil || self.stored?.entry != snapshot.entry {
            self.stored = (snapshot.entry, self.revision)
        }
        // A flight that was in progress when the backoff was ended still carries the earlier snapshot.
        self.snapshot?.endPause(like: known)
        self.unreadable = nil
        if let entry = snapshot.entry, let claim = entry.record.claim {
            _ = self.watch.saw(claim, in: entry.version, at: snapshot.readAt)
        }
        self.noteIssue(at: snapshot.readAt)
    }

    /// Records that the store has acknowledged a flight's write, such as its claim, before the flight ends and reports
    /// it. From now on reads must show that write.
    package mutating func didWrite(_ entry: AccountVault.Entry) {
        guard self.stored?.entry.map({ $0.version < entry.version }) ?? true else { return }
        self.revision += 1
        self.stored = (entry, self.revision)
    }

    private static func isOfOneClient(_ known: AccountRecord?, _ record: AccountRecord?) -> Bool {
        guard let known, let record else { return known == nil && record == nil }
        return known.binding.match(record.binding) == .same
    }

    mutating func serveUsable(now: BootInstant) -> Landing {
        var landing = Landing(event: self.announcement(now: now))
        for (id, waiting) in self.waiting.sorted(by: { $0.key < $1.key }) {
            guard case .credential = waiting.request,
                case .usable(let credential) = self.availability(for: waiting.request, now: now)
            else { continue }
            self.waiting[id] = nil
            landing.served.append(
                Served(waiter: waiting.waiter, result: .success(self.hand(credential, to: waiting, now)))
            )
        }
        return landing
    }

    /// The result of a flight for one waiter; `nil` if another flight must decide.
    private mutating func result(
        of waiting: Waiting,
        after result: FlightOutcome.Result,
        wasForced: Bool,
        now: BootInstant
    ) -> Result<UpstreamCredential, CredentialError>? {
        if waiting.request == .refresh {
            // An operator asked for a refresh, so a still valid token is no success.
            if case .failed(let error) = result { return .failure(error) }
            if !wasForced, result == .settled { return nil }
        }
        let request = waiting.request == .refresh ? .credential(refused: nil) : waiting.request
        switch (self.availability(for: request, now: now), result) {
        case (.usable(let credential), _): return .success(self.hand(credential, to: waiting, now))
        case (_, .failed(let error)): return .failure(error)
        case (.blocked(let error), .committed), (.blocked(let error), .settled): return .failure(error)
        case (.refreshable, .committed): return .failure(.expiredOnArrival(self.account))
        case (.refreshable, .settled): return nil
        }
    }

    private mutating func hand(_ credential: UpstreamCredential, to waiting: Waiting, _ now: BootInstant)
        -> UpstreamCredential
    {
        if case .credential(refused: let generation?) = waiting.request, generation != credential.generation {
            self.refusals.brings(TokenVersion(grant: credential.grant, generation: credential.generation), now: now)
        }
        return credential
    }

    /// The event that tells the event loops' credential caches what has changed since the last one.
    private mutating func announcement(now: BootInstant) -> CredentialEvent? {
        let credential: UpstreamCredential?
        if let snapshot, !snapshot.freshness.isDoubtful,
            case .usable(let usable) = snapshot.availability(
                of: self.account,
                bound: self.binding,
                mints: self.mints,
                under: self.epochs,
                at: now
            )
        {
            credential = usable
        } else {
            credential = nil
        }
        let standing = self.snapshot?.standingGrant(of: self.account, bound: self.binding, under: self.epochs)
        let known = self.announced?.grant ?? self.lapsed
        let lapsed = credential == nil && standing == known ? standing : nil
        guard credential != self.announced || lapsed != self.lapsed else { return nil }
        self.announced = credential
        self.lapsed = lapsed
        guard let credential else { return lapsed == nil ? .dropped(self.account) : .lapsed(self.account) }
        return .installed(credential)
    }
}
