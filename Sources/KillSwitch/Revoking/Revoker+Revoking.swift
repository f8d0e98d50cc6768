internal import Logging
internal import OAuth
internal import ProviderClient
internal import TokenModel
internal import TokenStorage

/// Has providers revoke the tokens that were taken away.
extension Revoker {
    /// Why a token was taken away, as log messages name such a token. A dropped one never came into an account's record.
    enum Cause: String { case killed, removed, dropped }

    /// Asks a provider to revoke the tokens that wait and are due: the refresh tokens first, since an access token ends by
    /// itself soon.
    ///
    /// - Parameters:
    ///   - lane: one of ``RevocationVault/lanes()``, which ``RevocationLanes/begin(_:now:)`` has begun.
    ///   - cause: returns why the entry of the kill log with that number took tokens away.
    /// - Returns: when to begin the lane again; `nil` where no token waits.
    func revokeDue(
        in lane: RevocationLane,
        _ cause: @escaping @Sendable (Epoch) -> Cause
    ) async -> BootInstant? {
        let (run, asked) = await withTaskGroup(of: Attempt.self) { attempts in
            var pass = Pass(lane: lane, cause: cause)
            repeat {
                self.lanes.change { $0.hush(lane) }
                pass.run.begin()
                for kind in [RevocableToken.refreshToken, .accessToken] where pass.run.isWhole {
                    pass.run.isWhole = await self.look(through: kind, &pass, &attempts)
                    // Refresh tokens that have come meanwhile go first.
                    if self.lanes.look({ $0.isRung(lane) }) { pass.run.isWhole = false }
                }
                while let attempt = await attempts.next() { self.take(attempt, &pass) }
            } while !pass.run.isWhole && !pass.isOver && !Task.isCancelled
            return (pass.run, pass.asked)
        }
        await self.tallies.write(now: self.timepiece.now.boot) { cause($0) == .killed }
        if asked > 0 {
            self.logger.info(
                "tokens were taken to a provider to be revoked",
                metadata: ["tokens.count": .stringConvertible(asked)]
            )
        }
        return self.lanes.change { $0.end(lane, run, pause: Self.pause, now: self.timepiece.now.boot) }
    }

    /// A run through the tokens of a lane.
    private struct Pass {
        let lane: RevocationLane
        let cause: @Sendable (Epoch) -> Cause
        var run = RevocationLanes.Run()
        var inProgress = 0
        var asked = 0
        /// Whether the store could not be listed.
        var hasFailed = false

        var isOver: Bool { self.hasFailed || self.run.isStopped }
    }

    /// What came of a token's turn.
    private struct Attempt {
        /// When the token is due again.
        var next: BootInstant?
        /// Whether it took one of the lane's turns.
        var hasTurn = false
        var wasAsked = false
        /// Whether the provider could not be asked.
        var isMiss = false
        /// Whether it is configured.
        var hasTarget = false
        /// The token's kill, if the token still waits.
        var open: Epoch?
    }

    private func take(_ attempt: Attempt, _ pass: inout Pass) {
        pass.inProgress -= 1
        if let next = attempt.next { pass.run.wait(until: next, hasTarget: attempt.hasTarget) }
        if let open = attempt.open { pass.run.open.insert(open) }
        guard attempt.wasAsked else {
            if attempt.hasTurn { self.lanes.change { $0.giveBack(pass.lane) } }
            return
        }
        pass.asked += 1
        pass.run.misses = attempt.isMiss ? pass.run.misses + 1 : 0
        if !attempt.isMiss { pass.run.hasSucceeded = true }
    }

    /// Gives each token of one kind its turn, from a random one on.
    ///
    /// - Returns: whether all had theirs.
    private func look(
        through kind: RevocableToken,
        _ pass: inout Pass,
        _ attempts: inout TaskGroup<Attempt>
    ) async -> Bool {
        let start = pass.lane.anywhere(kind)
        for (begin, end) in [(start, RecordKey?.none), (nil, start)] {
            var after = begin
            pages: while true {
                let page: RevocationVault.Page
                do throws(StoreError) {
                    page = try await self.revocations.page(under: pass.lane.tokens(kind), after: after)
                } catch {
                    self.logger.debug(
                        "killed or removed tokens wait for the store",
                        metadata: ["error.code": "\(error.code.rawValue)"]
                    )
                    pass.run.wait(until: self.timepiece.now.boot.advanced(by: .seconds(5)), hasTarget: false)
                    pass.hasFailed = true
                    return false
                }
                for key in page.unreadable { self.complain(of: key, StoreError(.unreadable, "")) }
                for (key, entry) in page.entries {
                    if let end, end < key { break pages }
                    let isRung = kind == .accessToken && self.lanes.look { $0.isRung(pass.lane) }
                    guard !isRung, await self.giveTurn(to: entry, at: key, &pass, &attempts) else { return false }
                }
                guard let last = page.last else { break }
                after = last
            }
        }
        return true
    }

    /// - Returns: whether other tokens may have their turn too.
    private func giveTurn(
        to entry: StoredEntry<RevocationRecord>,
        at key: RecordKey,
        _ pass: inout Pass,
        _ attempts: inout TaskGroup<Attempt>
    ) async -> Bool {
        let (lane, cause, record) = (pass.lane, pass.cause, entry.record)
        if let claim = record.claim, claim.incarnation != self.incarnation {
            // The claim is watched until it is gone or has lapsed.
            guard await self.mayBreak(claim, in: entry.version, at: .revocation(key), by: record.epoch) else {
                pass.run.open.insert(record.epoch)
                return true
            }
        }
        while pass.inProgress >= Self.mostAtOnce, let attempt = await attempts.next() { self.take(attempt, &pass) }
        guard !pass.isOver, !Task.isCancelled else { return false }
        let now = self.timepiece.now
        let target = self.target(record.binding)
        let due = self.due(record, at: key, hasTarget: target != nil, now: now.boot)
        if !self.isGivenUp(record, at: key, in: lane, hasTarget: target != nil, now: now), now.boot < due {
            pass.run.open.insert(record.epoch)
            pass.run.wait(until: due, hasTarget: target != nil)
            return true
        }
        // Without a target no provider is asked, and the others need not wait.
        if let target {
            let turn = self.lanes.change { $0.turn(of: lane, target.rate, now: now.boot) }
            while self.timepiece.now.boot < turn, !Task.isCancelled { await self.timepiece.rest(until: turn) }
            guard !Task.isCancelled else { return false }
        }
        pass.inProgress += 1
        attempts.addTask {
            var attempt = await self.attempt(key, in: lane, hasTurn: target != nil, cause)
            attempt.hasTurn = target != nil
            await self.tallies.writeNowAndThen(now: self.timepiece.now.boot) { cause($0) == .killed }
            return attempt
        }
        return true
    }

    /// So that a provider that takes its time is still asked as often as it allows.
    private static let mostAtOnce = 32
    /// A provider that can't be reached is asked again after a pause. The pause doubles with each try.
    private static let firstPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)
    /// A token that could not be revoked is erased after this time, since it is kept only to be revoked.
    static let keptFor = Duration.seconds(24 * 3_600)
    /// The fewest tries before a token is given up.
    static let fewestTries = 10

    /// A record that does not open, or can't be written now, must not keep the others from being revoked.
    private func attempt(
        _ key: RecordKey,
        in lane: RevocationLane,
        hasTurn: Bool,
        _ cause: @Sendable (Epoch) -> Cause
    ) async -> Attempt {
        do throws(StoreError) {
            return try await self.revoke(key, in: lane, hasTurn: hasTurn, cause)
        } catch {
            self.complain(of: key, error)
            guard error.code != .unreadable else { return Attempt() }
            // Its kill has to wait.
            return Attempt(next: self.timepiece.now.boot.advanced(by: .seconds(5)))
        }
    }

    private func complain(of key: RecordKey, _ error: StoreError) {
        self.logger.warning(
            "a killed or removed token could not be revoked now",
            metadata: ["record.key": "\(key)", "error.code": "\(error.code.rawValue)"]
        )
    }

    private func revoke(
        _ key: RecordKey,
        in lane: RevocationLane,
        hasTurn: Bool,
        _ cause: @Sendable (Epoch) -> Cause
    ) async throws(StoreError) -> Attempt {
        // Another process may have asked since the listing.
        guard let stored = try await self.revocations.read(key) else {
            self.schedule.forget(key)
            return Attempt()
        }
        var record = stored.record
        // A claim of this process's own is left over from a write that the store did not take.
        if let claim = record.claim, claim.incarnation != self.incarnation {
            guard await self.mayBreak(claim, in: stored.version, at: .revocation(key), by: record.epoch) else {
                return Attempt(open: record.epoch)
            }
        }
        let now = self.timepiece.now
        let endpoint = self.target(record.binding)?.endpoint
        let isGivenUp = self.isGivenUp(record, at: key, in: lane, hasTarget: endpoint != nil, now: now)
        guard let token = record.token, !isGivenUp else {
            // A token whose client the provider refused to the end counts as refused.
            record.outcome = record.outcome == .clientRefused ? .refused : .unreachable
            try await self.settle(record, from: stored.record, at: key, expecting: stored.version)
            self.tellOfGivenUp(record, cause(record.epoch), in: lane)
            return Attempt()
        }
        let due = self.due(record, at: key, hasTarget: endpoint != nil, now: now.boot)
        // Without a turn, its provider was configured a moment ago.
        guard now.boot >= due, hasTurn || endpoint == nil else { return Attempt(next: due, open: record.epoch) }
        record.tries += 1
        var (version, verdict) = (stored.version, RevocationVerdict.unreachable(.notConfigured))
        if let endpoint {
            // The process that writes this claim asks the provider. The others wait for the outcome.
            record.claim = AccountRecord.Claim(
                incarnation: self.incarnation,
                id: .random(),
                standsFor: Self.claimTime(at: endpoint)
            )
            guard let claimed = try await self.revocations.write(record, at: key, expecting: version) else {
                return Attempt(next: due, open: record.epoch)
            }
            (version, verdict) = (claimed, await endpoint.revoke(token, kind: record.kind))
        }
        record.claim = nil
        record.outcome = RevocationRecord.Outcome(verdict)
        self.tell(verdict, of: record, cause(record.epoch), at: key, in: lane, wasAsked: endpoint != nil)
        guard record.outcome.isOpen else {
            try await self.settle(record, from: stored.record, at: key, expecting: version)
            return Attempt(wasAsked: true)
        }
        if try await self.revocations.write(record, at: key, expecting: version) != nil {
            self.tallies.note(stored.record, record)
        }
        // Count from the response: a slow provider must not be asked again at once.
        let next = self.due(record, at: key, hasTarget: endpoint != nil, now: self.timepiece.now.boot)
        let wasAsked = endpoint != nil
        return Attempt(next: next, wasAsked: wasAsked, isMiss: true, hasTarget: wasAsked, open: record.epoch)
    }

    private func tellOfGivenUp(_ record: RevocationRecord, _ cause: Cause, in lane: RevocationLane) {
        self.logger.log(
            level: self.lanes.change { $0.mayWarn(lane) } ? .warning : .debug,
            """
            a \(cause.rawValue) token is given up, as its provider could not be asked for a day: end the grant at the \
            provider itself
            """,
            metadata: [
                "account.name": "\(record.account)", "token.kind": "\(record.kind.rawValue)",
                "provider.name": "\(record.binding.provider)",
            ]
        )
    }

    private func tell(
        _ verdict: RevocationVerdict,
        of record: RevocationRecord,
        _ cause: Cause,
        at key: RecordKey,
        in lane: RevocationLane,
        wasAsked: Bool
    ) {
        var facts: Logger.Metadata = [
            "account.name": "\(record.account)", "token.kind": "\(record.kind.rawValue)",
            "revocation.outcome": "\(verdict.name)",
        ]
        if let reason = verdict.reason { facts["revocation.reason"] = "\(reason)" }
        if wasAsked {
            if case .clientRefused = verdict, record.tries == 1 {
                facts["provider.name"] = "\(record.binding.provider)"
                self.logger.log(
                    level: self.lanes.change { $0.mayWarn(lane) } ? .warning : .debug,
                    """
                    a provider refuses the client, and a \(cause.rawValue) token is not revoked: put client_id and what \
                    proves it right within a day, or end the grant at the provider itself
                    """,
                    metadata: facts
                )
            }
            self.logger.debug("a \(cause.rawValue) token was taken to its provider", metadata: facts)
        } else {
            facts["provider.name"] = "\(record.binding.provider)"
            self.schedule.noteOrphan(key, now: self.timepiece.now.boot)
            self.logger.log(
                level: self.lanes.change { $0.mayWarn(lane) } ? .warning : .debug,
                """
                nobody was asked to revoke a \(cause.rawValue) token: its provider, or the client it was made for, is not \
                configured any more; put it back within a day, or end the grant at the provider itself
                """,
                metadata: facts
            )
        }
    }

    private func settle(
        _ record: RevocationRecord,
        from stored: RevocationRecord,
        at key: RecordKey,
        expecting version: Version
    ) async throws(StoreError) {
        if try await self.revocations.settle(record, at: key, expecting: version) {
            var settled = record
            settled.token = nil
            self.tallies.note(stored, settled)
        }
        self.schedule.forget(key)
    }

    /// By the wall clock, because processes come and go in that time. Also by the number of tries, because the wall
    /// clock may jump: those of the token, or those of its provider, where there are too many tokens to try each often.
    /// A token that can't be tried is given up when this process has known so for ten minutes.
    private func isGivenUp(
        _ record: RevocationRecord,
        at key: RecordKey,
        in lane: RevocationLane,
        hasTarget: Bool,
        now: Moment
    ) -> Bool {
        guard record.token != nil else { return true }
        guard record.takenAt.duration(to: now.wall) > Self.keptFor else { return false }
        guard hasTarget else { return self.schedule.orphaned(key, now: now.boot).map { $0 > .seconds(600) } ?? false }
        return record.tries > 0 && max(record.tries, self.lanes.look { $0.failures(lane) }) >= Self.fewestTries
    }

    /// Without a target one try tells all that there is to tell, and a reload may bring the target back at any time.
    private func due(
        _ record: RevocationRecord,
        at key: RecordKey,
        hasTarget: Bool,
        now: BootInstant
    ) -> BootInstant {
        guard hasTarget || self.schedule.orphaned(key, now: now) == nil else {
            return now.advanced(by: Self.longestPause)
        }
        return self.schedule.due(key, tries: record.tries, pause: Self.pause(after: record.tries), now: now)
    }

    /// When this process asks again about a waiting token, by the wall clock. `nil` where no token is left, where its
    /// provider is being asked or can't be asked, and where only another process knows.
    func nextTry(_ record: RevocationRecord, at key: RecordKey) -> WallTime? {
        guard record.token != nil, record.claim == nil, self.target(record.binding) != nil else { return nil }
        let pause = Self.pause(after: record.tries)
        guard let due = self.schedule.knownDue(key, tries: record.tries, pause: pause) else { return nil }
        let now = self.timepiece.now
        return now.wall.advanced(by: max(now.boot.duration(to: due), .zero))
    }

    /// How long a claim holds: the longest time that asking a provider may take, including its metadata and each proof
    /// of the client, plus 4 s for the store before and after it.
    private static func claimTime(at endpoint: any TokenEndpoint) -> Duration {
        endpoint.timeout * (1 + 2 * endpoint.proofCount) + .seconds(4)
    }

    private static func pause(after tries: Int) -> Duration {
        tries == 0 ? .zero : min(Self.firstPause * (1 << min(tries - 1, 6)), Self.longestPause)
    }
}
