package import OAuth
package import TokenModel
package import TokenStorage

/// The parameters of one flight.
package struct FlightParameters: Sendable {
    package let account: AccountID
    /// The provider, issuer and client that the configuration allows the tokens to be sent to, as far as known.
    package internal(set) var binding: AccountRecord.Binding
    /// If the tokens are minted, the grant that a first mint begins, drawn for this flight; `nil` if a refresh token is
    /// redeemed.
    package let mints: GrantID?
    /// Whether a mint is a sign-in that may bring a refresh token. Later flights redeem that token; if it is dead, the
    /// flight signs in once more.
    package let signsIn: Bool
    /// The proofs by which the client can authenticate.
    package let proofs: ProofOrder
    /// How long callers wait for the provider.
    package let timeout: Duration
    /// The longest duration of a token request. A response may come until then, and no process sends the refresh token
    /// again before.
    package let answerTimeout: Duration
    /// Whether the journal must hold new tokens before they are written to the store. That is so if several hosts reach
    /// the store, since such a store may lose acknowledged writes and be unreachable for a long time.
    package let journalsFirst: Bool
    package let incarnation: IncarnationID
    /// Drawn for this flight.
    package let claim: ClaimID
    package let refresh: RefreshRequest
    /// The kills that are known when the flight begins.
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

/// The result of a flight.
package struct FlightOutcome: Equatable, Sendable {
    /// How the flight ended.
    package enum Result: Equatable, Sendable {
        /// New tokens are durable in the store.
        case committed
        /// The store already holds what was requested, or another grant; see ``FlightOutcome/snapshot``.
        case settled
        case failed(CredentialError)
    }

    /// The result for the waiters.
    package internal(set) var result: Result
    /// The record as last read or written; `nil` if it could never be read.
    package let snapshot: RecordSnapshot?
    /// What the provider's responses said about Martlet's own client; `nothing` if they said nothing or there were
    /// none.
    package var lesson = ProviderHold.Lesson.nothing
    /// The last reason for having no tokens.
    package var failure: RefreshFailure?
    /// Why there are no tokens, if the store did not accept that reason. No record contains it, and the claim stays.
    package var unwritten: CredentialError?
    /// Whether this flight wrote into the record that the grant is dead. Only one flight does so.
    package var declaredDead = false
    /// Tokens that the provider issued and that can't be stored any more, since the record has another grant or
    /// generation.
    package var dropped: TokenGrant?
    /// The same for a refresh token that came without an access token.
    package var droppedRefreshToken: Secret?
    /// The record that would have been stored with the dropped tokens.
    package var droppedRecord: AccountRecord?
    /// Whether the journal holds tokens that the store does not have. The process that takes over this incarnation's
    /// journal commits them.
    package var leavesJournal = false
    /// What is known about another process's claim.
    package var watch = ClaimWatch()
    /// How many requests reached, or may have reached, the provider.
    package var uses = 0

    package init(_ result: Result, snapshot: RecordSnapshot?) {
        self.result = result
        self.snapshot = snapshot
    }
}

/// The next action that the caller performs for a flight. The caller reports its result by the method named with each
/// case.
package enum FlightAction: Equatable, Sendable {
    /// Read the account's record, and find out whether the incarnation that holds a claim in it is known to be dead →
    /// ``Flight/didRead(_:isHolderDead:now:)``.
    case read
    /// Ask whether this process may send to the provider now → ``Flight/didAdmit(_:under:boundTo:now:)``.
    case admit
    /// Write the record by compare-and-set → ``Flight/didWrite(_:sentAt:now:)``.
    case write(AccountRecord, expecting: Version?)
    /// Redeem the refresh token, unless its first byte can't be sent by `sendBy` → ``Flight/didRedeem(_:now:)``.
    case redeem(Secret, sendBy: BootInstant)
    /// Mint an access token, unless the request can't be sent by `sendBy` → ``Flight/didRedeem(_:now:)``.
    case mint(sendBy: BootInstant)
    /// Keep new tokens in the journal, because the store does not accept them or, with `isPrecaution`, before the store
    /// is asked → ``Flight/didJournal(_:now:)``.
    case journal(AccountRecord, isPrecaution: Bool)
    /// Serve the waiters with new tokens that the journal holds, before the store does → ``Flight/didPass(now:)``.
    case pass(AccountVault.Entry, receivedAt: BootInstant)
    /// Wait → ``Flight/didPause(_:)``.
    case pause(until: BootInstant)
    /// The flight is over. No action follows.
    case end(FlightOutcome)
}

/// Whether the process is stopping.
package enum Stopping: Comparable, Sendable {
    case no
    /// Flights that hold a claim or a success finish first.
    case graceful
    /// The time for a graceful stop is over.
    case now
}
