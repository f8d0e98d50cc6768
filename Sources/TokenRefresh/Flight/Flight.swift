internal import OAuth
package import TokenModel
package import TokenStorage

/// Decides the steps of one flight: from a record without a usable token to durable new tokens, or to a record with the
/// reason for having none.
///
///     read ──▶ judge ──usable, or blocked──▶ end
///               │ ▲ └──another's claim──▶ pause ──▶ read …            (until it is gone or has lapsed)
///               ▼ │conflict
///              claim ◀─────────────────────────┐ too little time, the one repeated try, another proof of the client,
///               ▼                              │ or a sign-in after a dead refresh token
///             redeem ──no tokens──▶ write back, claim gone ──▶ end
///               │  └────dead──▶ read ──still ours──▶ write back ──▶ end
///               ▼ success         └──another generation──▶ judge
///             commit ──▶ end
///               │ ▲ conflict, or store unreachable: journal, pass, pause, read
///               ▼ │
///             same grant, older generation than ours ──▶ commit over it; else drop the tokens ──▶ end
///
/// Rules:
/// - A flight spends a refresh token only under its own claim with enough time left for a whole exchange.
/// - A flight mints under a claim too, so that replicas share the minted token. A mint spends nothing.
/// - A success is never discarded, and neither is a new refresh token that came without an access token. The flight
///   keeps it in memory and writes it until it is stored or the record belongs to other tokens. From the first failed
///   write on, the journal on this host's disk holds it too if the journal can be written. The journal preserves it
///   across the end of the process, and the waiters are served from then on. If several hosts reach the store, the
///   journal holds it before the first write. A mint loses nothing and is not journalled.
/// - After `spent: maybe` the refresh token is used once more in all: at once, by the process that learned it first or
///   that broke the claim. Afterwards it is used once per backoff, which all replicas read from the record.
/// - Every event leads to exactly one action, and every action except ``FlightAction/end(_:)`` leads to exactly one
///   event.
///
/// The caller (``RefreshEngine``) performs the actions. This type touches no clock, store or provider.
package struct Flight: ~Copyable {
    enum State {
        case ready
        case reading(Purpose)
        /// Asks for permission to send. `breaking` means that the claim will replace one that has lapsed or whose
        /// incarnation has ended.
        case admitting(breaking: Bool)
        case claiming(AccountRecord)
        case redeeming
        case committing(Success)
        case journalling(Success)
        /// The journal holds the tokens, and the waiters are being served with them.
        case passing(Success)
        case writingBack(WriteBack)
        case pausing(Purpose)
        case ended
    }

    /// Why the record is read.
    enum Purpose {
        case evaluate
        /// The record is always read before a grant is declared dead.
        case declareDead(VerdictReason)
        case commit(Success)
        case writeBack(WriteBack)
    }

    /// Received tokens and the record that makes them durable.
    struct Success {
        let issued: Issued
        var record: AccountRecord
        /// The receipt from which the record's lifetimes count, on our own clock.
        let receivedAt: BootInstant
        var attempts = 0
        /// Whether the journal has the tokens; `nil` before the journal was asked to keep them.
        var isJournalled: Bool?
        /// Whether the waiters were served from the journal.
        var isPassed = false
    }

    /// What the provider has issued.
    enum Issued {
        case tokens(TokenGrant)
        /// A refresh token that came without an access token. A kept access token still has its expiry; the waiters get
        /// the error.
        case refreshTokenAlone(Secret, kept: Freshness, CredentialError)
    }

    /// A record with the reason for having no tokens.
    struct WriteBack {
        var record: AccountRecord
        let error: CredentialError
        var attempts = 0
    }

    /// The record before the claim, and the refresh token to spend.
    struct Basis {
        var record: AccountRecord
        /// `nil` if the token is minted.
        let refreshToken: Secret?
        /// Whether the refresh token may be spent, as far as this flight knows.
        var spent: AccountRecord.FailureRecord.Spent
        /// Whether the one immediate second use has been taken.
        var isLastUse: Bool

        /// The record without a claim, with the knowledge that would be lost if this process ended before it writes
        /// more.
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
    /// The account's token set when the flight began. A forced refresh is done once another one is stored.
    var firstTokenVersion: TokenVersion?
    var watch: ClaimWatch
    /// The holder of the claim that was read last, if that incarnation is known to have ended.
    var deadHolder: IncarnationID?
    var basis: Basis?
    /// The version that the next write expects.
    var version: Version?
    /// The term of our claim, counted from the earliest write that may have succeeded.
    var term: ClaimTerm?
    var isAdmitted = false
    /// The kills as read before the claim.
    var epochs: KillEpochs
    var mustRenew = false
    var renewals = 0
    var lateStarts = 0
    var storeFailures = 0
    var uses = 0
    /// The number of the client's proof that the next exchange uses.
    package var proof: Int { self.proofs.current }
    var proofs: ProofOrder
    /// The provider's reason when it first refused a proof without saying that it refuses the client.
    var refusal: VerdictReason?
    var lesson = ProviderHold.Lesson.nothing
    var failure: RefreshFailure?
    /// Since when only the provider's response can bring tokens, either to us or to the holder of another claim.
    package internal(set) var awaitsAnswerSince: BootInstant?

    /// - Parameters:
    ///   - snapshot: what the process already knew of the record.
    ///   - watch: what the process already knew of another process's claim.
    package init(_ plan: FlightParameters, snapshot: RecordSnapshot?, watch: ClaimWatch = ClaimWatch()) {
        self.plan = plan
        self.proofs = plan.proofs
        self.epochs = plan.epochs
        self.refresh = plan.refresh
        self.snapshot = snapshot
        self.watch = watch
        self.firstTokenVersion = snapshot?.tokenVersion
    }

    /// The interval for reading a record with another process's claim while callers wait for it.
    package static let pollInterval = Duration.milliseconds(250)
    /// The same interval afterwards. It is below ``ClaimWatch/longestGap``.
    package static let latePollInterval = Duration.seconds(1)
    static let storeRetry = Duration.milliseconds(200)
    static let mostStoreFailures = 5
    static let mostRenewals = 3
    static let mostLateStarts = 2

    /// The issuer of the refresh token to send.
    package var issuer: TokenIssuer? { self.basis?.record.binding.issuer }

    /// Returns the first action. Call it once.
    package mutating func begin() -> FlightAction {
        guard case .ready = self.state else { return self.poison() }
        self.state = .reading(.evaluate)
        return .read
    }

    /// Takes the result of reading the record.
    ///
    /// - Parameter isHolderDead: whether the holder of the record's claim has certainly ended and its journal has been
    ///   processed.
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

    /// Takes the result of writing a claim, new tokens or a failure.
    ///
    /// - Parameter sentAt: when the write was handed to the store. A claim's term starts there.
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

    /// Continues after a pause, which ends early if the process is stopping.
    package mutating func didPause(_ stopping: Stopping) -> FlightAction {
        guard case .pausing(let purpose) = self.state else { return self.poison() }
        switch purpose {
        // If our claim may be in the store, the flight removes or uses it first.
        case .evaluate where stopping == .now || stopping > .no && self.term == nil:
            return self.end(.failed(.stopping(self.plan.account)))
        case .commit(let success) where stopping > .no && success.isJournalled == true:
            // The process that takes over the journal commits the tokens. It does so after this process has ended.
            return self.end(.failed(.stopping(self.plan.account)), leavingJournal: true)
        case .commit(let success) where stopping == .now:
            return self.end(.failed(.stopping(self.plan.account)), dropping: success)
        case .declareDead where stopping == .now, .writeBack where stopping == .now:
            return self.end(.failed(.stopping(self.plan.account)))
        case .evaluate, .declareDead, .commit, .writeBack:
            return self.read(for: purpose)
        }
    }

    /// Takes over the record as it is in the store now.
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

    /// This event can't occur in this state, so Martlet has a bug. The flight ends; the process goes on.
    mutating func poison() -> FlightAction {
        assertionFailure("a flight was told of something it had not asked for")
        return self.end(
            .failed(
                CredentialError(.refreshFailed, "account \(self.plan.account): its refresh ended by a fault in Martlet")
            )
        )
    }
}
