import OAuth
import Simulation
import TestKit
import TokenModel
import TokenRefresh
import TokenStorage

/// The steps of the replicas, the store and the provider.
extension FlightSimulation {
    /// A read in progress, by a flight or by a check for changes of the record.
    struct Reading {
        let isOfFlight: Bool
        var revision: UInt64 = 0
        var tries = 0
    }

    enum Step {
        case begin, look, credential, pause, admit
        case perform(FlightAction)
        case read(Reading)
        case compare(Reading, Result<AccountVault.Entry?, StoreError>)
        case putBack(Reading, AccountVault.Entry, over: AccountVault.Entry?)
        case didPutBack(Reading, AccountVault.Entry, as: Version, Result<Version, StoreError>)
        case write(AccountRecord, expecting: Version?, sentAt: BootInstant)
        case didWrite(AccountRecord, expecting: Version?, Result<Version, StoreError>, sentAt: BootInstant)
        case send(Secret, sendBy: BootInstant, startedAt: Duration)
        case arrive(TokenVersion)
        case redeem(TokenVerdict)
        case journal(Bool)
        case inherit(AccountRecord)

        /// Whether the step takes place outside the process, and so even after the process has died.
        var isRemote: Bool {
            switch self {
            case .read, .putBack, .write, .inherit: true
            default: false
            }
        }
    }

    mutating func perform(_ step: Step, _ replica: SimulatedReplica) async {
        switch step {
        case .begin: self.begin(replica)
        case .look:
            self.schedule(.seconds(1) + self.upTo(.seconds(4)), replica, .look)
            self.read(Reading(isOfFlight: false), replica)
        case .perform(let action): self.apply(action, replica)
        case .read(let reading):
            let stored = await Self.result { () async throws(StoreError) in try await replica.store.read(Self.key) }
            self.answer(replica, .compare(reading, self.opened(stored)))
        case .compare(let reading, let result): self.compare(result, reading, replica)
        case .putBack(let reading, let known, let found):
            let version = known.versionToPutBack(over: found)
            let result = await Self.result { () async throws(StoreError) in
                try await replica.vault.write(known.record, for: alice, as: version, expecting: found?.version)
                return version
            }
            self.answer(replica, .didPutBack(reading, known, as: version, result))
        case .didPutBack(let reading, let known, let version, let result):
            self.didPutBack(known, as: version, result, reading, replica)
        case .write(let record, var expecting, let sentAt):
            if self.mutation == .writesAreBlind { expecting = self.shared.history.record(Self.key)?.version }
            let result = await Self.result { () async throws(StoreError) in
                try await replica.vault.write(record, for: alice, expecting: expecting)
            }
            self.answer(replica, .didWrite(record, expecting: expecting, result, sentAt: sentAt))
        case .didWrite(let record, let expecting, let result, let sentAt):
            self.didWrite(record, expecting, result, sentAt: sentAt, replica)
        case .send(let refreshToken, let sendBy, let startedAt):
            self.send(refreshToken, sendBy: sendBy, startedAt: startedAt, replica)
        case .arrive(let tokenVersion):
            replica.asks = nil
            self.provider.end(tokenVersion)
        case .redeem(let verdict): self.apply(replica.flight.didRedeem(verdict, now: self.moment), replica)
        case .journal(let isKept): self.apply(replica.flight.didJournal(isKept, now: self.moment), replica)
        case .credential: self.apply(replica.flight.didPass(now: self.moment), replica)
        case .pause: self.apply(replica.flight.didPause(.no), replica)
        case .admit: self.apply(replica.flight.didAdmit(nil, now: self.moment), replica)
        case .inherit(let owed): await self.inherit(owed, from: replica)
        }
    }

    private mutating func opened(
        _ stored: Result<StoredRecord?, StoreError>
    ) -> Result<AccountVault.Entry?, StoreError> {
        switch stored {
        case .success(let stored): .success(self.open(stored))
        case .failure(let error): .failure(error)
        }
    }

    mutating func begin(_ replica: SimulatedReplica) {
        let tokenVersion = replica.accountState.snapshot?.tokenVersion
        let refresh = RefreshRequest(
            refused: self.chance.happens(0.3) ? tokenVersion : nil,
            ripe: self.chance.happens(0.3) ? tokenVersion : nil,
            isForced: self.chance.happens(0.05)
        )
        let plan = SimulatedReplica.plan(replica.incarnation, refresh, self.weather)
        replica.flight = Flight(plan, snapshot: replica.accountState.snapshot, watch: replica.accountState.watch)
        self.apply(replica.flight.begin(), replica)
    }

    mutating func apply(_ action: FlightAction, _ replica: SimulatedReplica) {
        switch action {
        case .read:
            if self.mutation == .writesAreNotReadBack, replica.hasUnansweredWrite {
                let known = replica.lastRead
                return self.answer(replica, .compare(Reading(isOfFlight: true, revision: .max), .success(known)))
            }
            self.read(Reading(isOfFlight: true), replica)
        case .write(let record, let expecting):
            if record.claim != nil, self.moment.boot < replica.claimsRestUntil {
                let rest = self.moment.boot.duration(to: replica.claimsRestUntil)
                return self.schedule(rest + self.stop(), replica, .perform(action))
            }
            let write = Step.write(record, expecting: expecting, sentAt: self.moment.boot)
            self.schedule(self.storeTime(), replica, write)
        case .redeem(let refreshToken, let sendBy):
            let send = Step.send(refreshToken, sendBy: sendBy, startedAt: self.now)
            self.schedule(self.upTo(.milliseconds(2_500)) + self.stop(), replica, send)
        case .mint:
            self.violations.append("a token was minted for an account with a refresh token")
        case .journal(let record, _):
            let isKept = self.chance.happens(0.8)
            if isKept { replica.journal = record }
            self.schedule(self.upTo(.milliseconds(20)), replica, .journal(isKept))
        case .pass(let entry, let receivedAt):
            if replica.journal != entry.record { self.violations.append("tokens were used that were not durable") }
            _ = replica.accountState.replace(entry, receipt: .here(at: receivedAt), isStored: false, now: self.moment)
            self.schedule(.zero, replica, .credential)
        case .pause(let until):
            let rest = max(self.moment.boot.duration(to: until), .zero)
            self.schedule(rest + self.stop(), replica, .pause)
        case .admit: self.schedule(.zero, replica, .admit)
        case .end(let outcome): self.end(outcome, replica)
        }
    }

    mutating func end(_ outcome: FlightOutcome, _ replica: SimulatedReplica) {
        _ = replica.accountState.land(outcome, now: self.moment.boot)
        replica.settled = replica.journal ?? replica.settled
        replica.journal = nil
        replica.endedLastAt = self.now
        if let dropped = outcome.dropped {
            if dropped.refreshToken?.text == self.provider.live, !self.hasLost,
                self.seen?.record.tokens?.refreshToken?.text != self.provider.live
            {
                self.violations.append("tokens were dropped for nothing")
            }
            replica.inHand = nil
        }
        if outcome.result == .committed { replica.inHand = nil }
        if let inHand = replica.inHand { self.violations.append("\(inHand) was thrown away: \(outcome.result)") }
        replica.hasUnansweredWrite = false
        self.schedule(self.upTo(.seconds(5)), replica, .begin)
    }

    // MARK: - The store

    mutating func read(_ reading: Reading, _ replica: SimulatedReplica) {
        var reading = reading
        reading.revision = replica.accountState.revision
        self.schedule(self.storeTime(), replica, .read(reading))
    }

    mutating func compare(
        _ result: Result<AccountVault.Entry?, StoreError>,
        _ reading: Reading,
        _ replica: SimulatedReplica
    ) {
        guard case .success(let entry) = result, self.mutation != .nothingIsPutBack, reading.revision != .max else {
            return self.didRead(result, reading, replica)
        }
        switch replica.accountState.compare(entry, readAt: reading.revision) {
        case .current: self.didRead(result, reading, replica)
        case .overtaken: self.readAgain(reading, replica)
        case .older(let known):
            replica.claimsRestUntil = self.moment.boot.advanced(by: .seconds(3))
            if known.isLost(in: entry, lastImport: nil) {
                self.schedule(self.storeTime(), replica, .putBack(reading, known, over: entry))
            } else {
                _ = replica.accountState.fallBack(to: entry, from: known, now: self.moment)
                self.didRead(result, reading, replica)
            }
        }
    }

    mutating func didPutBack(
        _ known: AccountVault.Entry,
        as version: Version,
        _ result: Result<Version, StoreError>,
        _ reading: Reading,
        _ replica: SimulatedReplica
    ) {
        if case .failure(let error) = result {
            guard error.code == .conflict else { return self.didRead(.failure(error), reading, replica) }
            return self.readAgain(reading, replica)
        }
        let repaired = AccountVault.Entry(record: known.record, version: version)
        if replica.accountState.snapshot?.entry == known {
            _ = replica.accountState.replace(repaired, receipt: .stored, now: self.moment)
        }
        self.repairs += 1
        self.didRead(.success(repaired), reading, replica)
    }

    mutating func readAgain(_ reading: Reading, _ replica: SimulatedReplica) {
        var reading = reading
        reading.tries += 1
        guard reading.tries < 8 else { return self.didRead(.failure(.away), reading, replica) }
        self.read(reading, replica)
    }

    mutating func didRead(
        _ result: Result<AccountVault.Entry?, StoreError>,
        _ reading: Reading,
        _ replica: SimulatedReplica
    ) {
        guard reading.isOfFlight else {
            if case .success(let entry) = result { _ = replica.accountState.observe(entry, now: self.moment) }
            return
        }
        if case .success(let entry) = result { replica.lastRead = entry }
        let holder = (try? result.get())?.record.claim?.incarnation
        let isHolderDead = holder.map(self.ended.contains) ?? false
        self.apply(replica.flight.didRead(result, isHolderDead: isHolderDead, now: self.moment), replica)
    }

    mutating func didWrite(
        _ record: AccountRecord,
        _ expecting: Version?,
        _ result: Result<Version, StoreError>,
        sentAt: BootInstant,
        _ replica: SimulatedReplica
    ) {
        var (result, sentAt) = (result, sentAt)
        if case .failure(let error) = result, error.code == .unreachable {
            replica.hasUnansweredWrite = true
            if self.mutation == .commitsAreGivenUp, replica.inHand != nil, record.claim == nil {
                let givenUp = CredentialError(.refreshFailed, "given up")
                return self.end(FlightOutcome(.failed(givenUp), snapshot: replica.accountState.snapshot), replica)
            }
            if self.mutation == .claimsNeedNoAnswer, record.claim != nil {
                result = .success(expecting?.next ?? .first)
            }
        }
        if self.mutation == .claimsCountFromTheAnswer { sentAt = self.moment.boot }
        self.apply(replica.flight.didWrite(result, sentAt: sentAt, now: self.moment), replica)
    }

    // MARK: - The provider

    mutating func send(
        _ refreshToken: Secret,
        sendBy: BootInstant,
        startedAt: Duration,
        _ replica: SimulatedReplica
    ) {
        let left = self.weather.answersWithin - (self.now - startedAt)
        guard self.moment.boot <= sendBy, left > .zero else {
            let verdict = TokenVerdict.notSent(left > .zero ? .sendingTooLate : .timedOut)
            return self.schedule(.zero, replica, .redeem(verdict))
        }
        guard let tokenVersion = self.provider.tokenVersion(of: refreshToken) else {
            return self.violations.append("a refresh token was spent that was never issued")
        }
        if replica.accountState.knowsLater(than: tokenVersion) {
            guard self.mutation == .oldTokensAreSent else {
                return self.schedule(.zero, replica, .redeem(.notSent(.sendingTooLate)))
            }
            self.violations.append("\(refreshToken.text) was spent, and is known to be rotated away")
        }
        if self.provider.begin(tokenVersion) > 1, !self.unclaimed.contains(tokenVersion) {
            self.violations.append("two refreshes at once of \(tokenVersion)")
        }
        let isLost = self.happens(self.weather.answerIsLost)
        let takes = isLost ? left : self.upTo(left)
        replica.asks = tokenVersion
        self.schedule(takes, replica, .arrive(tokenVersion))
        var verdict = TokenVerdict.ambiguous(.timedOut)
        if self.happens(self.weather.clientIsRefused) {
            if !isLost { verdict = .config(.code("invalid_client")) }
        } else if !isLost || self.chance.happens(0.5) {
            let answer = self.provider.redeem(refreshToken, of: tokenVersion)
            if case .success = answer, !isLost { replica.inHand = self.provider.live }
            if !isLost { verdict = answer }
            self.noteLoss()
        }
        self.schedule(takes + self.stop(), replica, .redeem(verdict))
    }

    /// Takes over the journal of an incarnation that has ended.
    mutating func inherit(_ owed: AccountRecord, from replica: SimulatedReplica) async {
        let vault = AccountVault(self.records)
        let stored = try? await vault.read(alice)
        if JournalEntry(account: alice, record: owed).isOwed(to: stored?.record) {
            _ = try? await vault.write(owed, for: alice, expecting: stored?.version)
        }
        self.ended.insert(replica.incarnation)
        self.owed[replica.incarnation] = nil
    }

    static func result<Value: Sendable>(
        _ body: () async throws(StoreError) -> Value
    ) async -> Result<Value, StoreError> {
        do throws(StoreError) { return .success(try await body()) } catch { return .failure(error) }
    }
}
