package import OAuth
package import TokenModel
package import TokenStorage

/// What a flight is given to go by.
package struct FlightParameters: Sendable {
    package let account: AccountID
    /// Whom the configuration lets the tokens go to, as far as it is known.
    package internal(set) var binding: AccountRecord.Binding
    /// Where the tokens are minted: the grant that a first mint begins, drawn for this flight. `nil` where a refresh token
    /// is redeemed.
    package let mints: GrantID?
    /// Whether a mint is a sign-in that may bring a refresh token, to be redeemed from then on: one more sign-in stands for
    /// a dead one.
    package let signsIn: Bool
    /// What the client may prove itself by.
    package let proofs: ProofOrder
    /// How long callers wait for the provider.
    package let timeout: Duration
    /// The longest a token request lasts: until then its answer may come, and nobody sends the refresh token again.
    package let answerTimeout: Duration
    /// Whether new tokens are to be in the journal before the store is asked to take them: several hosts reach it, so that it
    /// may lose what it has acknowledged, and be away for long.
    package let journalsFirst: Bool
    package let incarnation: IncarnationID
    /// Drawn for this flight.
    package let claim: ClaimID
    package let refresh: RefreshRequest
    /// The kills that are known when it begins.
    package let epochs: KillEpochs
    /// Drawn for this flight, evenly from 0 to 1.
    package let jitter: Double

    package init(
        account: AccountID,
        binding: AccountRecord.Binding,
        mints: GrantID? = nil,
        signsIn: Bool = false,
        proofs: ProofOrder = ProofOrder(),
        timeout: Duration,
        answerTimeout: Duration? = nil,
        journalsFirst: Bool = false,
        incarnation: IncarnationID,
        claim: ClaimID,
        refresh: RefreshRequest,
        epochs: KillEpochs = KillEpochs(),
        jitter: Double
    ) {
        self.account = account
        self.binding = binding
        self.mints = mints
        self.signsIn = signsIn && mints != nil
        self.proofs = proofs
        self.timeout = timeout
        self.answerTimeout = max(answerTimeout ?? timeout, timeout)
        self.journalsFirst = journalsFirst && mints == nil
        self.incarnation = incarnation
        self.claim = claim
        self.refresh = refresh
        self.epochs = epochs
        self.jitter = jitter
    }
}

/// What a flight leaves behind.
package struct FlightOutcome: Equatable, Sendable {
    /// How it ended.
    package enum Result: Equatable, Sendable {
        /// New tokens are durable in the store.
        case committed
        /// The store holds what was asked for, or another grant: look at ``FlightOutcome/snapshot``.
        case settled
        case failed(CredentialError)
    }

    /// What those who wait are to be told.
    package internal(set) var result: Result
    /// The record as last read or written; `nil` if it never could be.
    package let snapshot: RecordSnapshot?
    /// What the provider's answers said about Martlet's own client; nothing where they did not, or there were none.
    package var lesson = ProviderHold.Lesson.nothing
    /// The last reason for no tokens, for the log.
    package var failure: RefreshFailure?
    /// Why there are no tokens, where the store did not take that: it stands in no record, and the claim stays.
    package var unwritten: CredentialError?
    /// Set by the one flight that wrote into the record that its grant is dead.
    package var declaredDead = false
    /// Tokens the provider issued and the store has no place for any more: another grant or generation stands there.
    package var dropped: TokenGrant?
    /// The same of a refresh token that came alone.
    package var droppedRefreshToken: Secret?
    /// What would have been stored with either.
    package var droppedRecord: AccountRecord?
    /// Tokens that stand in the journal and not in the store: whoever takes this incarnation's journal over commits them.
    package var leavesJournal = false
    /// What is known of another process's claim.
    package var watch = ClaimWatch()
    /// Times that the refresh token went, or may have gone, to the provider.
    package var uses = 0

    package init(_ result: Result, snapshot: RecordSnapshot?) {
        self.result = result
        self.snapshot = snapshot
    }
}

/// What the shell has to do next for a flight; each is answered by the event of the same name.
package enum FlightAction: Equatable, Sendable {
    /// Read the account's record, and find out whether the incarnation that holds a claim in it is known dead →
    /// ``Flight/didRead(_:isHolderDead:now:)``.
    case read
    /// Ask whether this process may send to the provider now → ``Flight/didAdmit(_:now:)``.
    case admit
    /// Write the record by compare-and-set → ``Flight/didWrite(_:sentAt:now:)``.
    case write(AccountRecord, expecting: Version?)
    /// Redeem the refresh token, unless its first byte can't leave by `sendBy` → ``Flight/didRedeem(_:now:)``.
    case redeem(Secret, sendBy: BootInstant)
    /// Have an access token minted, unless the request can't leave by `sendBy` → ``Flight/didRedeem(_:now:)``.
    case mint(sendBy: BootInstant)
    /// Keep new tokens in the journal, since the store does not take them, or before it is asked to →
    /// ``Flight/didJournal(_:now:)``.
    case journal(AccountRecord, isPrecaution: Bool)
    /// Serve those who wait from new tokens that the journal holds, before the store does → ``Flight/didPass(now:)``.
    case pass(AccountVault.Entry, receivedAt: BootInstant)
    /// Wait → ``Flight/didPause(_:)``.
    case pause(until: BootInstant)
    /// Nothing more: the flight is over.
    case end(FlightOutcome)
}

/// Whether the process is going away.
package enum Stopping: Comparable, Sendable {
    case no
    /// Flights that hold a claim or a success end first.
    case graceful
    /// The time for that is over.
    case now
}
