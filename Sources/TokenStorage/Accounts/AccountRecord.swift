package import TokenModel

/// All that is stored for one account: its tokens, what they belong to, and the claim of the replica that is about to
/// spend the refresh token.
package struct AccountRecord: Equatable, Sendable {
    /// The current grant. New at each import, login or first mint.
    package var grant: GrantID
    /// Grows by one with each committed token set.
    package var generation: Generation
    /// The current tokens; `nil` once they have been deleted.
    package var tokens: TokenSet?
    /// The kill epoch that the writer of the tokens had last read.
    package var observedEpoch: Epoch
    /// The id of the kill log entry at ``observedEpoch``. Set on a store that may lose entries, where another entry may
    /// later get the same number.
    package var observedEntry: KillID?
    /// The provider and client that the tokens were issued for. The tokens are sent to no other provider.
    package var binding: Binding
    /// The claim of the flight that is in progress; `nil` if there is none.
    package var claim: Claim?
    /// The result of the last unsuccessful flights, shared by all replicas. Reset by each committed token set.
    package var failureRecord: FailureRecord?
    /// The time at which this generation was committed.
    package var refreshedAt: WallTime?
    /// The last killed tokens of the account. They are never accepted again, neither from an import nor from a
    /// provider.
    package var killed: [TokenDigest]
    /// Former providers of the grant, by their names in the configuration: an operator has adopted the grant for
    /// another provider since. A kill of any of them also kills the tokens.
    package var formerProviders: [ProviderID]
    /// A digest of the client secret or key that the provider accepted last. It is tried first. `nil` if unknown.
    package var acceptedProof: TokenDigest?
    /// A digest of who signed in last (``TokenDigest/init(ofSubject:at:)``); `nil` if that is unknown. It outlives the
    /// tokens, so that nobody else signs in by mistake after a kill.
    package var subject: TokenDigest?
    /// The last refresh tokens that were imported for a member of a family, or by a bulk import. A bulk import that is
    /// repeated puts none of them over its successor.
    package var imported: [TokenDigest]
    /// Whether an operator removed this member of a family, so that it does not exist until it is imported again. A later
    /// kill does not change that.
    package var isRemoved: Bool

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
        acceptedProof: TokenDigest? = nil,
        subject: TokenDigest? = nil,
        imported: [TokenDigest] = [],
        isRemoved: Bool = false
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
        self.subject = subject
        self.imported = imported
        self.isRemoved = isRemoved
    }
}

extension AccountRecord {
    /// The provider's name, the issuer of the tokens, and the client id that they were issued for.
    package struct Binding: Hashable, Sendable {
        package var provider: ProviderID
        package var issuer: TokenIssuer
        package var clientID: String

        package init(provider: ProviderID, issuer: TokenIssuer, clientID: String) {
            self.provider = provider
            self.issuer = issuer
            self.clientID = clientID
        }

        /// Compares this binding with that of the configuration or of another record.
        package func match(_ other: Binding) -> TokenIssuer.Match {
            self.provider == other.provider && self.clientID == other.clientID
                ? self.issuer.match(other.issuer) : .other
        }
    }

    /// A replica's exclusive right to spend the refresh token.
    package struct Claim: Hashable, Sendable {
        package var incarnation: IncarnationID
        package var id: ClaimID
        /// How long the claim is valid. Each reader measures this from its own first read of the claim.
        package var standsFor: Duration

        package init(incarnation: IncarnationID, id: ClaimID, standsFor: Duration) {
            self.incarnation = incarnation
            self.id = id
            self.standsFor = standsFor
        }
    }

    /// Why this generation has not been refreshed.
    package struct FailureRecord: Equatable, Sendable {
        /// Whether the provider may have redeemed the refresh token although no response arrived.
        package enum Spent: String, Sendable { case no, maybe }

        /// The number of unsuccessful flights for this generation.
        package var tries: Int
        package var spent: Spent
        /// The backoff before the next attempt. Each reader measures this from its own first read of the record.
        package var retryIn: Duration
        /// Whether the grant is dead, so that no retry can help.
        package var dead: Bool
        /// The provider's error code or one of Martlet's (`[a-z_.-]{1,64}`). Shown to operators.
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

/// Decides when another process's claim may be broken: once it has been seen unchanged for its whole validity
/// (``UnchangedSince``).
///
/// When the holder renews a claim, the claim keeps its id and the version of the record changes.
package struct ClaimWatch: Equatable, Sendable {
    private struct Content: Equatable, Sendable {
        let claim: AccountRecord.Claim
        let version: Version
    }

    private var sighting: UnchangedSince<Content>?

    package init() {}

    /// The longest time between two reads in which the claim counts as unchanged.
    package static let longestGap = UnchangedSince<Content>.longestGap

    /// Records a read that found `claim` in the record's `version` at `now`.
    ///
    /// - Returns: whether the claim has expired and may be broken by a write that expects `version`.
    package mutating func saw(_ claim: AccountRecord.Claim, in version: Version, at now: BootInstant) -> Bool {
        let content = Content(claim: claim, version: version)
        var sighting = self.sighting ?? UnchangedSince(content, at: now)
        let age = sighting.saw(content, at: now)
        self.sighting = sighting
        return sighting.content == content && age >= claim.standsFor
    }

    /// Whether `claim` has been seen for longer than it is valid, with or without gaps between the reads. That is
    /// enough to say that nobody is refreshing, but not enough to break the claim.
    package func isOverdue(_ claim: AccountRecord.Claim, at now: BootInstant) -> Bool {
        guard let sighting, sighting.content.claim == claim else { return false }
        return sighting.noticedAt.duration(to: now) > claim.standsFor
    }
}

/// The time since which another process's record has been seen unchanged, by successful reads at most 2 s apart.
///
/// Every decision that rests on the silence of another process uses this type, so that no clock is compared with
/// another host's clock. After a gap (this process was stopped, or the store was unreachable) the time starts again,
/// because the other process may have been stopped too.
package struct UnchangedSince<Content: Equatable & Sendable>: Equatable, Sendable {
    package private(set) var content: Content
    /// The time of the first read of this content, whether or not there was a gap since.
    package private(set) var noticedAt: BootInstant
    /// The time of the first read of this content since the last gap.
    package private(set) var start: BootInstant
    private var lastReadAt: BootInstant

    /// The longest time between two reads in which the content counts as unchanged.
    package static var longestGap: Duration { .seconds(2) }

    /// Records the first read, which ended at `now`.
    package init(_ content: Content, at now: BootInstant) {
        self.content = content
        self.noticedAt = now
        self.start = now
        self.lastReadAt = now
    }

    /// Records a read that ended at `now`. A read that ended before the last recorded one is ignored.
    ///
    /// - Returns: for how long the content is known to be unchanged.
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
