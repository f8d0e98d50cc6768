internal import OAuth
package import TokenModel
package import TokenStorage

/// Decides the steps of one flight: from a record without a usable token to new tokens that are durable, or to a
/// record that says why not.
///
///     read ──▶ judge ──good, or nothing helps──▶ end
///               │ ▲ └──another's claim──▶ pause ──▶ read …            (until it goes, or has lapsed)
///               ▼ │conflict
///              claim ◀─────────────────────────┐ time short, the one second try, another proof of the client,
///               ▼                              │ or a sign-in for a dead refresh token
///             redeem ──no tokens──▶ write back, claim gone ──▶ end
///               │  └────dead──▶ read ──still ours──▶ write back ──▶ end
///               ▼ success         └──another generation──▶ judge
///             commit ──▶ end
///               │ ▲ conflict, or store away: journal, pass, pause, read
///               ▼ │
///             same grant, generation not past ours ──▶ commit over it; else drop the tokens ──▶ end
///
/// What it keeps to:
/// - One spends a refresh token only under a claim of its own that has time for a whole exchange.
/// - One mints under a claim too, so that replicas share what was minted; a mint spends nothing.
/// - A success is never thrown away, nor a new refresh token that came without an access token: it is kept in hand, and
///   written until it stands or the record belongs to other tokens. From the first failed write on the journal on this
///   host's disk holds it too, where that can be written, and carries it over the end of the process; those who wait are
///   served from then on. On a store that several hosts reach the journal holds it before the first write. A
///   mint loses nothing and is not journalled.
/// - After `spent: maybe` the refresh token is used once more in all: at once by whoever learned it first, or by whoever
///   broke the claim; afterwards once per backoff, which all replicas read from the record.
/// - Every event leads to exactly one action, and every action but ``FlightAction/end(_:)`` to exactly one event.
///
/// The shell performs; no clock, store or provider is touched here.
package struct Flight: ~Copyable {
    enum State {
        case ready
        case reading(Purpose)
        /// Asking leave to send; the claim is to replace another that has lapsed, or whose incarnation has ended.
        case admitting(breaking: Bool)
        case claiming(AccountRecord)
        case redeeming
        case committing(Success)
        case journalling(Success)
        /// The journal holds the tokens, and they are being given to those who wait.
        case passing(Success)
        case writingBack(WriteBack)
        case pausing(Purpose)
        case ended
    }

    /// Why the record is read.
    enum Purpose {
        case evaluate
        /// A dead grant is declared only after this.
        case declareDead(VerdictReason)
        case commit(Success)
        case writeBack(WriteBack)
    }

    /// Tokens in hand, and the record that makes them durable.
    struct Success {
        let issued: Issued
        var record: AccountRecord
        /// The receipt that the record's lifetimes count from, on our own clock.
        let receivedAt: BootInstant
        var attempts = 0
        /// Whether the journal has it; `nil` while it was not asked to.
        var isJournalled: Bool?
        /// Those who wait were served from the journal.
        var isPassed = false
    }

    /// What the provider has issued.
    enum Issued {
        case tokens(TokenGrant)
        /// No access token came with it. A kept one has its end still; those who wait get the error.
        case refreshTokenAlone(Secret, kept: Freshness, CredentialError)
    }

    /// A record that says why there are no tokens.
    struct WriteBack {
        var record: AccountRecord
        let error: CredentialError
        var attempts = 0
    }

    /// What is to be spent: the record as it was before the claim.
    struct Basis {
        var record: AccountRecord
        /// `nil` where tokens are minted.
        let refreshToken: Secret?
        /// Spent for certain or maybe, as far as this flight knows.
        var spent: AccountRecord.FailureRecord.Spent
        /// The one second use at once is gone.
        var isLastUse: Bool

        /// The record, unclaimed, with what would be lost if this process ended before it can say more.
        var learned: AccountRecord {
            guard self.spent == .maybe else { return self.record }
            var record = self.record
            var failureRecord =
                record.failureRecord ?? RefreshFailure.claimBroken.failureRecord(after: nil, spent: .maybe, jitter: 0)
            failureRecord.spent = .maybe
            record.failureRecord = failureRecord
            return record
        }
    }

    var plan: FlightParameters
    var refresh: RefreshRequest
    var state = State.ready
    var snapshot: RecordSnapshot?
    /// What the account had when the flight began: a forced refresh is done once something else stands there.
    var firstTokenVersion: TokenVersion?
    var watch: ClaimWatch
    /// Holds the claim that was read last, and is known to have ended.
    var deadHolder: IncarnationID?
    var basis: Basis?
    /// The version that the next write expects.
    var version: Version?
    /// Our claim's time; from the earliest write that may stand.
    var term: ClaimTerm?
    var isAdmitted = false
    /// The kills as they were read before the claim.
    var epochs: KillEpochs
    var mustRenew = false
    var renewals = 0
    var lateStarts = 0
    var storeFailures = 0
    var uses = 0
    /// Which of the client's proofs the next exchange shows, by its number.
    package var proof: Int { self.proofs.current }
    var proofs: ProofOrder
    /// What the provider said to the first proof that it refused without saying that it refuses the client.
    var refusal: VerdictReason?
    var lesson = ProviderHold.Lesson.nothing
    var failure: RefreshFailure?
    /// Since when only the provider's answer, to us or to the holder of another claim, can bring tokens.
    package internal(set) var awaitsAnswerSince: BootInstant?

    /// - Parameters:
    ///   - sight: what the process knew of the record before.
    ///   - watch: what it knew of another's claim.
    package init(_ plan: FlightParameters, snapshot: RecordSnapshot?, watch: ClaimWatch = ClaimWatch()) {
        self.plan = plan
        self.proofs = plan.proofs
        self.epochs = plan.epochs
        self.refresh = plan.refresh
        self.snapshot = snapshot
        self.watch = watch
        self.firstTokenVersion = snapshot?.tokenVersion
    }

    /// How often a record with another's claim is read while callers wait for it.
    package static let pollInterval = Duration.milliseconds(250)
    /// The same afterwards; under ``ClaimWatch/longestGap``.
    package static let latePollInterval = Duration.seconds(1)
    static let storeRetry = Duration.milliseconds(200)
    static let mostStoreFailures = 5
    static let mostRenewals = 3
    static let mostLateStarts = 2

    /// Who issued the refresh token that is to be sent.
    package var issuer: TokenIssuer? { self.basis?.record.binding.issuer }

    /// The first action; call it once.
    package mutating func begin() -> FlightAction {
        guard case .ready = self.state else { return self.poison() }
        self.state = .reading(.evaluate)
        return .read
    }

    /// The record was read, or could not be.
    ///
    /// - Parameter isHolderDead: whether the incarnation of the claim in it has ended for certain, its journal seen to.
    package mutating func didRead(
        _ result: Result<AccountVault.Entry?, StoreError>,
        isHolderDead: Bool = false,
        now: Moment
    ) -> FlightAction {
        guard case .reading(let purpose) = self.state else { return self.poison() }
        self.deadHolder = isHolderDead ? (try? result.get())?.record.claim?.incarnation : nil
        switch purpose {
        case .evaluate: return self.evaluate(result, now: now)
        case .declareDead(let reason): return self.declareDead(reason, after: result, now: now)
        case .commit(let success): return self.commitAgain(success, over: result, now: now)
        case .writeBack(let writeBack): return self.writeBackAgain(writeBack, over: result, now: now)
        }
    }

    /// A claim, new tokens or a failure was written, or could not be.
    ///
    /// - Parameter sentAt: when the write was handed to the store; a claim's time runs from there.
    package mutating func didWrite(
        _ result: Result<Version, StoreError>,
        sentAt: BootInstant,
        now: Moment
    ) -> FlightAction {
        switch self.state {
        case .claiming(let record): self.claimed(record, result, sentAt: sentAt, now: now)
        case .committing(let success): self.committed(success, result, now: now)
        case .writingBack(let writeBack): self.wroteBack(writeBack, result, now: now)
        case .ready, .reading, .admitting, .redeeming, .journalling, .passing, .pausing, .ended: self.poison()
        }
    }

    /// The wait is over, or was cut short since the process goes away.
    package mutating func didPause(_ stopping: Stopping) -> FlightAction {
        guard case .pausing(let purpose) = self.state else { return self.poison() }
        switch purpose {
        // A claim that may stand is looked after first.
        case .evaluate where stopping == .now || stopping > .no && self.term == nil:
            return self.end(.failed(.stopping(self.plan.account)))
        case .commit(let success) where stopping > .no && success.isJournalled == true:
            // Whoever takes the journal over commits it; that begins when this process has ended.
            return self.end(.failed(.stopping(self.plan.account)), leavingJournal: true)
        case .commit(let success) where stopping == .now:
            return self.end(.failed(.stopping(self.plan.account)), dropping: success)
        case .declareDead where stopping == .now, .writeBack where stopping == .now:
            return self.end(.failed(.stopping(self.plan.account)))
        case .evaluate, .declareDead, .commit, .writeBack:
            return self.read(for: purpose)
        }
    }

    /// Takes note of the record as it stands in the store.
    mutating func see(_ entry: AccountVault.Entry?, receipt: Freshness.Receipt = .stored, now: Moment) {
        self.snapshot = RecordSnapshot(entry, after: self.snapshot, receipt: receipt, now: now)
        self.version = entry?.version
        if self.firstTokenVersion == nil { self.firstTokenVersion = self.snapshot?.tokenVersion }
    }

    mutating func read(for purpose: Purpose) -> FlightAction {
        self.state = .reading(purpose)
        return .read
    }

    mutating func pause(_ duration: Duration, for purpose: Purpose, now: Moment) -> FlightAction {
        self.state = .pausing(purpose)
        return .pause(until: now.boot.advanced(by: duration))
    }

    mutating func end(
        _ result: FlightOutcome.Result,
        declaredDead: Bool = false,
        unwritten: CredentialError? = nil,
        dropping dropped: Success? = nil,
        leavingJournal: Bool = false
    ) -> FlightAction {
        self.state = .ended
        var outcome = FlightOutcome(result, snapshot: self.snapshot)
        outcome.lesson = self.lesson
        outcome.failure = self.failure
        outcome.declaredDead = declaredDead
        outcome.unwritten = unwritten
        outcome.droppedRecord = dropped?.record
        switch dropped?.issued {
        case .tokens(let grant)?: outcome.dropped = grant
        case .refreshTokenAlone(let refreshToken, _, _)?: outcome.droppedRefreshToken = refreshToken
        case nil: break
        }
        outcome.leavesJournal = leavingJournal
        outcome.uses = self.uses
        outcome.watch = self.watch
        return .end(outcome)
    }

    /// An event that can't come in this state is our own bug: the flight ends, the process goes on.
    mutating func poison() -> FlightAction {
        assertionFailure("a flight was told of something it had not asked for")
        return self.end(
            .failed(
                CredentialError(.refreshFailed, "account \(self.plan.account): its refresh ended by a fault in Martlet")
            )
        )
    }
}
