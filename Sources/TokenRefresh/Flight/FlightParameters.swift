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
