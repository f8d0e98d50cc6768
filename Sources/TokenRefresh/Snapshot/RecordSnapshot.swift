package import TokenModel
package import TokenStorage

/// An account's record as this process has read it. Every time in it is converted to this process's own clock when the
/// process first sees it.
package struct RecordSnapshot: Equatable, Sendable {
    /// The stored entry; `nil` if there is none.
    package let entry: AccountVault.Entry?
    /// The moment until which the access token may be used.
    package var freshness: Freshness
    /// When the token set was received. For a stored set it is derived from the wall clock, so use it only for what is
    /// not urgent.
    package let receivedAt: BootInstant
    /// When this process first saw the token set.
    package let firstSeenAt: BootInstant
    /// When the record's backoff ends; `nil` without one.
    package private(set) var retryAt: BootInstant?
    /// When this process read or wrote the record.
    package let readAt: BootInstant

    /// Creates a snapshot of a record that was read or written at `now`.
    ///
    /// - Parameters:
    ///   - previous: the previous snapshot. Whatever it already contained keeps its times.
    ///   - knownSince: when this process first saw the account, if it has kept no snapshot since.
    package init(
        _ entry: AccountVault.Entry?,
        after previous: RecordSnapshot?,
        knownSince: BootInstant? = nil,
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
            self.firstSeenAt = knownSince ?? now.boot
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

    /// Ends the record's backoff if the configuration may have caused it and a retry costs no refresh token. This
    /// affects this process only, which counts the backoff from its own first sight of it.
    package mutating func endPause(mints: Bool, now: BootInstant) {
        guard let retryAt, now < retryAt, let failureRecord = self.entry?.record.failureRecord else { return }
        switch FailureKind(of: failureRecord) {
        case .accountConfig, .refused, .notProvider: self.retryAt = now
        case .dead where mints: self.retryAt = now
        case .notSent, .ambiguous, .throttled, .config, .dead: return
        }
    }

    /// Takes over the end of the backoff from `other`, a snapshot of the same record, if it is earlier there.
    package mutating func endPause(like other: RecordSnapshot?) {
        guard let other, other.entry?.version == self.entry?.version,
            other.entry?.record.failureRecord == self.entry?.record.failureRecord,
            let earlier = other.retryAt, let retryAt, earlier < retryAt
        else { return }
        self.retryAt = earlier
    }

    /// The identity of the token set; `nil` if nothing is stored.
    package var tokenVersion: TokenVersion? { self.entry?.record.tokenVersion }
}

extension AccountRecord {
    /// The identity of the record's token set.
    package var tokenVersion: TokenVersion { TokenVersion(grant: self.grant, generation: self.generation) }
}

/// What a request needs from an account beyond a usable token.
package struct RefreshRequest: Equatable, Sendable {
    /// The token set that an upstream responded 401 to. It counts as expired.
    package var refused: TokenVersion?
    /// The token set to replace in the background before it expires. Nobody waits for this, so the set is still handed
    /// out and any obstacle to a refresh applies.
    package var ripe: TokenVersion?
    /// Whether an operator asked for a refresh. It replaces even a valid token, and starts at once after a failure.
    package var isForced: Bool

    package init(refused: TokenVersion? = nil, ripe: TokenVersion? = nil, isForced: Bool = false) {
        self.refused = refused
        self.ripe = ripe
        self.isForced = isForced
    }

    /// Any valid token.
    package static let usable = RefreshRequest()
    /// An immediate refresh.
    package static let forced = RefreshRequest(isForced: true)
}
