package import TokenModel
package import TokenStorage

/// What this process has read of an account's record, with every time in it counted on its own clock from the first
/// sight of it.
package struct RecordSnapshot: Equatable, Sendable {
    /// `nil`: nothing is stored.
    package let entry: AccountVault.Entry?
    /// Until when the access token may be used.
    package var freshness: Freshness
    /// When the token set was received, as far as the wall clock can tell of one that was stored; for what is not
    /// urgent.
    package let receivedAt: BootInstant
    /// When this process first saw the token set.
    package let firstSeenAt: BootInstant
    /// When the record's backoff is over; `nil` without one.
    package private(set) var retryAt: BootInstant?
    /// When the record was read, or written by us.
    package let readAt: BootInstant

    /// Takes a record as read or written at `now`.
    ///
    /// - Parameter previous: the sight before this one. What was in it already keeps the times it got then.
    package init(
        _ entry: AccountVault.Entry?,
        after previous: RecordSnapshot?,
        receipt: Freshness.Receipt = .stored,
        now: Moment
    ) {
        self.entry = entry
        self.readAt = now.boot
        let record = entry?.record
        let known = previous?.entry?.record
        if receipt == .stored, let previous, let known, known.tokenVersion == record?.tokenVersion,
            known.tokens == record?.tokens
        {
            self.freshness = previous.freshness
            self.receivedAt = previous.receivedAt
            self.firstSeenAt = previous.firstSeenAt
        } else {
            self.freshness = Freshness.evaluate(record?.tokens, receipt: receipt, now: now)
            self.firstSeenAt = now.boot
            switch receipt {
            case .here(let receivedAt): self.receivedAt = receivedAt
            case .stored:
                let age = record?.tokens.map { max($0.receivedAt.duration(to: now.wall), .zero) } ?? .zero
                self.receivedAt = now.boot.advanced(by: .zero - age)
            }
        }
        if let failureRecord = record?.failureRecord, failureRecord.retryIn > .zero {
            let isKnown = known?.tokenVersion == record?.tokenVersion && known?.failureRecord == failureRecord
            self.retryAt = (isKnown ? previous?.retryAt : nil) ?? now.boot.advanced(by: failureRecord.retryIn)
        } else {
            self.retryAt = nil
        }
    }

    /// Ends the record's backoff where the configuration may have been the reason for it, and where trying again costs no
    /// refresh token: for this process alone, which counts from its own sight.
    package mutating func endPause(mints: Bool, now: BootInstant) {
        guard let retryAt, now < retryAt, let failureRecord = self.entry?.record.failureRecord else { return }
        switch FailureKind(of: failureRecord) {
        case .accountConfig, .refused, .notProvider: self.retryAt = now
        case .dead where mints: self.retryAt = now
        case .notSent, .ambiguous, .throttled, .config, .dead: return
        }
    }

    /// Goes by the end of the backoff that `other` knows of the same record, if that is earlier: it was ended there.
    package mutating func endPause(like other: RecordSnapshot?) {
        guard let other, other.entry?.version == self.entry?.version,
            other.entry?.record.failureRecord == self.entry?.record.failureRecord,
            let earlier = other.retryAt, let retryAt, earlier < retryAt
        else { return }
        self.retryAt = earlier
    }

    /// Which token set it is; `nil` where nothing is stored.
    package var tokenVersion: TokenVersion? { self.entry?.record.tokenVersion }
}

extension AccountRecord {
    /// Which token set this is.
    package var tokenVersion: TokenVersion { TokenVersion(grant: self.grant, generation: self.generation) }
}

/// What somebody wants of an account beyond a usable token.
package struct RefreshRequest: Equatable, Sendable {
    /// The token set an upstream answered 401 to: it counts as expired.
    package var refused: TokenVersion?
    /// The token set that is to be replaced before it ends: nobody waits for that, so it is still handed out, and what
    /// speaks against a refresh counts.
    package var ripe: TokenVersion?
    /// An operator asked for a refresh: also of a valid token, and at once after a failure.
    package var isForced: Bool

    package init(refused: TokenVersion? = nil, ripe: TokenVersion? = nil, isForced: Bool = false) {
        self.refused = refused
        self.ripe = ripe
        self.isForced = isForced
    }

    /// Any token that is good.
    package static let usable = RefreshRequest()
    /// A refresh now.
    package static let forced = RefreshRequest(isForced: true)
}
