internal import Logging
internal import OAuth
internal import ProviderClient
internal import TokenModel
internal import TokenStorage

/// Has providers revoke the tokens that were taken away.
extension Revoker {
    /// Why a token was taken away, as log messages name such a token. A dropped one never came into an account's record.
    enum Cause: String { case killed, removed, dropped }

    /// Has the providers revoke all tokens that wait and are due.
    ///
    /// - Parameter cause: returns why the entry of the kill log with that number took tokens away.
    /// - Returns: when to call this again; `nil` where no token waits.
    func revokeDue(_ cause: @escaping @Sendable (Epoch) -> Cause) async throws(StoreError) -> BootInstant? {
        var keys = try await self.revocations.open().makeIterator()
        // A provider that hangs must not hold up the others, nor delay the end of the process for long.
        return await withTaskGroup(of: BootInstant?.self) { tasks in
            for _ in 0..<Self.mostAtOnce {
                guard let key = keys.next() else { break }
                tasks.addTask { await self.revokeIfOpen(key, cause) }
            }
            var next: BootInstant?
            for await due in tasks {
                if let due { next = min(next ?? due, due) }
                if !Task.isCancelled, let key = keys.next() { tasks.addTask { await self.revokeIfOpen(key, cause) } }
            }
            return next
        }
    }

    private static let mostAtOnce = 8
    /// A provider that can't be reached is asked again after a pause. The pause doubles with each try.
    private static let firstPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)
    /// A token that could not be revoked is erased after this time, since it is kept only to be revoked.
    static let keptFor = Duration.seconds(24 * 3_600)
    /// The fewest tries before a token is given up.
    static let fewestTries = 10

    /// A record that does not open, or can't be written now, must not keep the others from being revoked.
    private func revokeIfOpen(_ key: RecordKey, _ cause: @Sendable (Epoch) -> Cause) async -> BootInstant? {
        do throws(StoreError) {
            return try await self.revoke(key, cause)
        } catch {
            self.logger.warning(
                "a killed or removed token could not be revoked now",
                metadata: ["record.key": "\(key)", "error.code": "\(error.code.rawValue)"]
            )
            return error.code == .unreadable ? nil : self.timepiece.now.boot.advanced(by: .seconds(5))
        }
    }

    /// - Returns: when to ask the provider again; `nil` where it is not asked again.
    private func revoke(_ key: RecordKey, _ cause: @Sendable (Epoch) -> Cause) async throws(StoreError)
        -> BootInstant?
    {
        guard let stored = try await self.revocations.read(key) else {
            self.schedule.forget(key)
            return nil
        }
        var record = stored.record
        // A claim of this process's own is left over from a write that the store did not take.
        if let claim = record.claim, claim.incarnation != self.incarnation {
            // The claim is watched until it is gone or has lapsed.
            guard await self.mayBreak(claim, in: stored.version, at: .revocation(key)) else { return nil }
        }
        let now = self.timepiece.now
        guard let token = record.token, !Self.isGivenUp(record, now: now.wall) else {
            // A token whose client the provider refused to the end counts as refused.
            record.outcome = record.outcome == .clientRefused ? .refused : .unreachable
            try await self.settle(record, at: key, expecting: stored.version)
            self.logger.warning(
                """
                a \(cause(record.epoch).rawValue) token is given up, as its provider could not be asked for a day: end the \
                grant at the provider itself
                """,
                metadata: [
                    "account.name": "\(record.account)", "token.kind": "\(record.kind.rawValue)",
                    "provider.name": "\(record.binding.provider)",
                ]
            )
            return nil
        }
        let due = self.due(record, at: key, now: now.boot)
        guard now.boot >= due else { return due }
        // The process that writes this claim asks the provider. The others wait for the outcome.
        let endpoint = self.endpoint(record.binding)
        record.tries += 1
        record.claim = AccountRecord.Claim(
            incarnation: self.incarnation,
            id: .random(),
            standsFor: Self.claimTime(at: endpoint)
        )
        guard let version = try await self.revocations.write(record, at: key, expecting: stored.version) else {
            return due
        }
        let verdict =
            if let endpoint {
                await endpoint.revoke(token, kind: record.kind)
            } else {
                RevocationVerdict.unreachable(.notConfigured)
            }
        record.claim = nil
        record.outcome = RevocationRecord.Outcome(verdict)
        self.tell(verdict, of: record, cause(record.epoch), at: key, wasAsked: endpoint != nil)
        guard record.outcome.isOpen else {
            try await self.settle(record, at: key, expecting: version)
            return nil
        }
        _ = try await self.revocations.write(record, at: key, expecting: version)
        // Count from the response: a slow provider must not be asked again at once.
        return self.due(record, at: key, now: self.timepiece.now.boot)
    }

    private func tell(
        _ verdict: RevocationVerdict,
        of record: RevocationRecord,
        _ cause: Cause,
        at key: RecordKey,
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
                self.logger.warning(
                    """
                    a provider refuses the client, and a \(cause.rawValue) token is not revoked: put client_id and what \
                    proves it right within a day, or end the grant at the provider itself
                    """,
                    metadata: facts
                )
            }
            self.logger.info("a \(cause.rawValue) token was taken to its provider", metadata: facts)
        } else {
            facts["provider.name"] = "\(record.binding.provider)"
            // The tries go on for a day. One warning is enough for an operator to restore the provider.
            self.logger.log(
                level: self.schedule.isNewOrphan(key) ? .warning : .debug,
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
        at key: RecordKey,
        expecting version: Version
    ) async throws(StoreError) {
        try await self.revocations.settle(record, at: key, expecting: version)
        self.schedule.forget(key)
    }

    /// By the wall clock, because processes come and go in that time. Also by the number of tries, because the wall
    /// clock may jump.
    private static func isGivenUp(_ record: RevocationRecord, now: WallTime) -> Bool {
        record.takenAt.duration(to: now) > Self.keptFor && record.tries >= Self.fewestTries
    }

    private func due(_ record: RevocationRecord, at key: RecordKey, now: BootInstant) -> BootInstant {
        self.schedule.due(key, tries: record.tries, pause: Self.pause(after: record.tries), now: now)
    }

    /// When this process asks again about a waiting token, by the wall clock. `nil` where no token is left, where its
    /// provider is being asked or can't be asked, and where only another process knows.
    func nextTry(_ record: RevocationRecord, at key: RecordKey) -> WallTime? {
        guard record.token != nil, record.claim == nil, self.endpoint(record.binding) != nil else { return nil }
        let pause = Self.pause(after: record.tries)
        guard let due = self.schedule.knownDue(key, tries: record.tries, pause: pause) else { return nil }
        let now = self.timepiece.now
        return now.wall.advanced(by: max(now.boot.duration(to: due), .zero))
    }

    /// How long a claim holds: the longest time that asking a provider may take, including its metadata and each proof
    /// of the client, plus 4 s for the store before and after it.
    private static func claimTime(at endpoint: (any TokenEndpoint)?) -> Duration {
        (endpoint.map { $0.timeout * (1 + 2 * $0.proofCount) } ?? .zero) + .seconds(4)
    }

    private static func pause(after tries: Int) -> Duration {
        tries == 0 ? .zero : min(Self.firstPause * (1 << min(tries - 1, 6)), Self.longestPause)
    }
}
