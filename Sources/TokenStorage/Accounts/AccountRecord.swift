package import TokenModel

/// All that is kept of one account: the tokens, what they belong to, and who is about to spend the refresh token.
package struct AccountRecord: Equatable, Sendable {
    /// New at import, login or first mint.
    package var grant: GrantID
    /// +1 with each committed token set.
    package var generation: Generation
    /// `nil` once the tokens were forgotten.
    package var tokens: TokenSet?
    /// The kill epoch that the writer of the tokens had read.
    package var observedEpoch: Epoch
    /// The entry of that number, where another may have had it: on a store that may lose entries.
    package var observedEntry: KillID?
    /// Whom the tokens were made for; nothing is sent to anyone else.
    package var binding: Binding
    /// Stands beside the tokens while a flight runs.
    package var claim: Claim?
    /// What the last flights without success left behind, shared by all replicas. Reset by each committed token set.
    package var failureRecord: FailureRecord?
    /// When this generation was committed.
    package var refreshedAt: WallTime?
    /// Tokens of the account that were killed, the last ones: they are not taken again, whoever brings them.
    package var killed: [TokenDigest]
    /// Providers that the grant was bound to before, by their names in the configuration: since an operator adopted it for
    /// another. A kill of any of them kills its tokens.
    package var formerProviders: [ProviderID]
    /// Which of the client's secrets or keys the provider took last, as a digest: it is tried first. `nil` where nobody knows.
    package var acceptedProof: TokenDigest?

    package init(
        grant: GrantID,
        generation: Generation,
        tokens: TokenSet?,
        observedEpoch: Epoch,
        observedEntry: KillID? = nil,
        binding: Binding,
        claim: Claim? = nil,
        failureRecord: FailureRecord? = nil,
        refreshedAt: WallTime? = nil,
        killed: [TokenDigest] = [],
        formerProviders: [ProviderID] = [],
        acceptedProof: TokenDigest? = nil
    ) {
        self.grant = grant
        self.generation = generation
        self.tokens = tokens
        self.observedEpoch = observedEpoch
        self.observedEntry = observedEntry
        self.binding = binding
        self.claim = claim
        self.failureRecord = failureRecord
        self.refreshedAt = refreshedAt
        self.killed = killed
        self.formerProviders = formerProviders
        self.acceptedProof = acceptedProof
    }
}

extension AccountRecord {
    /// The provider's name, who issued the tokens, and the client id that they were made for.
    package struct Binding: Hashable, Sendable {
        package var provider: ProviderID
        package var issuer: TokenIssuer
        package var clientID: String

        package init(provider: ProviderID, issuer: TokenIssuer, clientID: String) {
            self.provider = provider
            self.issuer = issuer
            self.clientID = clientID
        }

        /// How it stands to what the configuration says, or to what another record does.
        package func match(_ other: Binding) -> TokenIssuer.Match {
            self.provider == other.provider && self.clientID == other.clientID
                ? self.issuer.match(other.issuer) : .other
        }
    }

    /// A replica's exclusive right to spend the refresh token.
    package struct Claim: Hashable, Sendable {
        package var incarnation: IncarnationID
        package var id: ClaimID
        /// How long it stands; each reader counts from its own first sight of it.
        package var standsFor: Duration

        package init(incarnation: IncarnationID, id: ClaimID, standsFor: Duration) {
            self.incarnation = incarnation
            self.id = id
            self.standsFor = standsFor
        }
    }

    /// Why this generation could not be refreshed.
    package struct FailureRecord: Equatable, Sendable {
        /// Whether the refresh token may have been redeemed without us learning the answer.
        package enum Spent: String, Sendable { case no, maybe }

        /// Flights without success for this generation.
        package var tries: Int
        package var spent: Spent
        /// How long nobody tries again; each reader counts from its own first sight of it.
        package var retryIn: Duration
        /// Set when trying again can't help: the grant is dead.
        package var dead: Bool
        /// The provider's error code or ours (`[a-z_.-]{1,64}`); shown to operators.
        package var reason: String

        package init(tries: Int, spent: Spent, retryIn: Duration, dead: Bool, reason: String) {
            self.tries = tries
            self.spent = spent
            self.retryIn = retryIn
            self.dead = dead
            self.reason = reason
        }
    }
}

/// Finds out when another process's claim may be broken: it was seen unchanged for its whole time (``UnchangedSince``).
///
/// A claim that its holder renews stands with the same id in another version of the record.
package struct ClaimWatch: Equatable, Sendable {
    private struct Content: Equatable, Sendable {
        let claim: AccountRecord.Claim
        let version: Version
    }

    private var sighting: UnchangedSince<Content>?

    package init() {}

    /// Reads further apart than this prove nothing about the time between them.
    package static let longestGap = UnchangedSince<Content>.longestGap

    /// Takes note of a read that found `claim` in the record's `version` at `now`.
    ///
    /// - Returns: whether the claim has lapsed, and may be broken by a write that expects `version`.
    package mutating func saw(_ claim: AccountRecord.Claim, in version: Version, at now: BootInstant) -> Bool {
        let content = Content(claim: claim, version: version)
        var sighting = self.sighting ?? UnchangedSince(content, at: now)
        let age = sighting.saw(content, at: now)
        self.sighting = sighting
        return sighting.content == content && age >= claim.standsFor
    }

    /// Whether `claim` has been there for longer than it stands, whatever lay between the reads: enough to say that
    /// nobody is refreshing, not enough to break it.
    package func isOverdue(_ claim: AccountRecord.Claim, at now: BootInstant) -> Bool {
        guard let sighting, sighting.content.claim == claim else { return false }
        return sighting.noticedAt.duration(to: now) > claim.standsFor
    }
}

/// Since when something of another process's was seen unchanged, by reads that succeeded at most 2 s apart.
///
/// Whoever goes by another's silence counts with this: no clock is compared with another's. A gap (this process was
/// stopped, or the store was away) starts the count anew, for the other may have been stopped too.
package struct UnchangedSince<Content: Equatable & Sendable>: Equatable, Sendable {
    package private(set) var content: Content
    /// The first read that found it, with gaps after it or not.
    package private(set) var noticedAt: BootInstant
    /// The first read that found it, without a gap since.
    package private(set) var start: BootInstant
    private var lastReadAt: BootInstant

    /// Reads further apart than this prove nothing about the time between them.
    package static var longestGap: Duration { .seconds(2) }

    /// Takes the first read, which ended at `now`.
    package init(_ content: Content, at now: BootInstant) {
        self.content = content
        self.noticedAt = now
        self.start = now
        self.lastReadAt = now
    }

    /// Takes a read that ended at `now`. One that ended before another which was taken already says nothing new.
    ///
    /// - Returns: for how long it is known to be unchanged.
    @discardableResult
    package mutating func saw(_ content: Content, at now: BootInstant) -> Duration {
        guard now >= self.lastReadAt else { return self.start.duration(to: self.lastReadAt) }
        if content != self.content {
            self = UnchangedSince(content, at: now)
        } else if self.lastReadAt.duration(to: now) > Self.longestGap {
            self.start = now
        }
        self.lastReadAt = now
        return self.start.duration(to: now)
    }
}
