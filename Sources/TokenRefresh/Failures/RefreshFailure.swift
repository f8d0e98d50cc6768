package import OAuth
package import TokenModel
package import TokenStorage

/// Why a flight ended without tokens. It determines the failure record that the next flight reads, in whichever
/// replica.
package enum RefreshFailure: Equatable, Sendable {
    case notSent(VerdictReason)
    case ambiguous(VerdictReason)
    /// A replica ended, or lost the store, between its claim and the provider's response.
    case claimBroken
    case throttled(retryAfter: Duration)
    case config(VerdictReason)
    case accountConfig(VerdictReason)
    case refused(VerdictReason)
    case notProvider(VerdictReason)
    case dead(VerdictReason)

    /// The failure record after this failure.
    ///
    /// Consecutive failures are counted per kind. Otherwise an outage of an hour would turn the first refusal after it
    /// into the third.
    ///
    /// - Parameters:
    ///   - previous: the failure that the record holds so far for this generation.
    ///   - spent: what is known so far about the use of the refresh token.
    ///   - mints: whether the account mints its tokens. No refresh token is at stake then, so no refusal is final.
    ///   - jitter: drawn evenly from 0 to 1.
    package func failureRecord(
        after previous: AccountRecord.FailureRecord?,
        spent: AccountRecord.FailureRecord.Spent,
        mints: Bool = false,
        jitter: Double
    ) -> AccountRecord.FailureRecord {
        let counts = previous.map { FailureKind(of: $0).counting == self.kind.counting } ?? false
        // Limited, so that an absurd stored number can't overflow.
        let tries = min(max(counts ? previous?.tries ?? 0 : 0, 0), 1_000_000) + 1
        var failureRecord = AccountRecord.FailureRecord(
            tries: tries,
            spent: spent,
            retryIn: .zero,
            dead: false,
            reason: self.reason
        )
        switch self {
        case .notSent, .ambiguous, .claimBroken:
            let longest = Self.doubled(.milliseconds(500), tries: tries, atMost: .seconds(30))
            failureRecord.retryIn = .milliseconds(Int64(Double(longest / .milliseconds(1)) * min(max(jitter, 0), 1)))
        case .throttled(let retryAfter):
            failureRecord.retryIn = retryAfter
        case .config:
            // Each process holds the provider as a whole. The provider's first success must not leave this account in a
            // backoff.
            failureRecord.retryIn = .zero
        case .accountConfig:
            failureRecord.retryIn = Self.doubled(.seconds(30), tries: tries, atMost: .seconds(300))
        case .refused where mints, .dead where mints:
            failureRecord.retryIn = Self.doubled(.seconds(5), tries: tries, atMost: .seconds(300))
        case .refused:
            // Either the refresh token is dead or the client is wrong. Only a person can tell.
            failureRecord.retryIn = .seconds(3_600)
        case .notProvider:
            // The first retry is early because a proxy may just be starting. Later ones are rare enough not to annoy a
            // firewall.
            failureRecord.retryIn = Self.doubled(.seconds(1), tries: tries, atMost: .seconds(120))
        case .dead:
            failureRecord.dead = true
        }
        if spent == .maybe, let previous, previous.isAfterLostProcess, !failureRecord.isAfterLostProcess {
            failureRecord.reason += AccountRecord.FailureRecord.lostProcess
        }
        return failureRecord
    }

    private static func doubled(_ first: Duration, tries: Int, atMost longest: Duration) -> Duration {
        min(first * (1 << min(tries - 1, 10)), longest)
    }

    private var kind: FailureKind {
        switch self {
        case .notSent: .notSent
        case .ambiguous, .claimBroken: .ambiguous
        case .throttled: .throttled
        case .config: .config
        case .accountConfig: .accountConfig
        case .refused: .refused
        case .notProvider: .notProvider
        case .dead: .dead
        }
    }

    private var reason: String {
        switch self {
        case .throttled: self.kind.rawValue
        case .claimBroken: self.kind.rawValue + AccountRecord.FailureRecord.lostProcess
        case .dead(let reason): reason.rawValue
        case .notSent(let reason), .ambiguous(let reason), .config(let reason), .accountConfig(let reason),
            .refused(let reason), .notProvider(let reason):
            "\(self.kind.rawValue).\(reason.rawValue)"
        }
    }
}

/// The kind of a record's failure: the first word of its reason (`not_sent.connect_failed`).
///
/// The record stores the whole reason, and operators see it. The engine looks at the first word only.
package enum FailureKind: String, Sendable {
    case notSent = "not_sent"
    case ambiguous
    case throttled
    case config
    case accountConfig = "account_config"
    case refused
    case notProvider = "not_provider"
    /// The reason is the provider's own word, and the record's `dead` is set.
    case dead

    /// Reads the kind from a record's failure. An unknown first word counts as ambiguous, the most careful kind.
    package init(of failureRecord: AccountRecord.FailureRecord) {
        let word = failureRecord.reason.prefix { $0 != "." }
        self = FailureKind(rawValue: String(word)) ?? (failureRecord.dead ? .dead : .ambiguous)
    }

    /// A group of kinds that share a count of tries. A failing provider may fail in different ways one after the other.
    package enum Counting: Sendable { case outage, clientRefused, accountRefused, refused, dead }

    /// The group of this kind.
    package var counting: Counting {
        switch self {
        case .notSent, .ambiguous, .throttled, .notProvider: .outage
        case .config: .clientRefused
        case .accountConfig: .accountRefused
        case .refused: .refused
        case .dead: .dead
        }
    }
}

extension AccountRecord.FailureRecord {
    /// Whether a person must sign in again. Earlier versions set `dead` also after three responses without a reason. A
    /// proxy may have sent those, so they do not end the grant.
    package var endsGrant: Bool { self.dead && FailureKind(of: self) != .refused }

    /// The suffix of the reason after a process was lost while it spent the refresh token. It stays as long as the use
    /// of the token is in doubt, since a later response from the provider may be a consequence of that use.
    static let lostProcess = ".claim_broken"

    var isAfterLostProcess: Bool { self.reason.hasSuffix(Self.lostProcess) }
}

/// A problem of an account that its state does not show. For example, the token is valid but the next one can't be
/// obtained, or upstreams refuse it.
package struct AccountIssue: Equatable, Sendable {
    /// The kind of a problem. If several apply, the first one is reported.
    package enum Kind: String, Sendable, CaseIterable {
        /// An upstream responded 401 to the access token in this process, and no other token can be obtained.
        case tokenRefused = "token_refused"
        /// The provider refuses the client, or the client's request for this account.
        case clientRefused = "client_refused"
        /// The last refresh brought no tokens, or the next refresh can't bring any.
        case refreshFailing = "refresh_failing"
        /// The refresh token was not used when it should have been, and no refresh was tried since.
        case refreshOverdue = "refresh_overdue"
    }

    package let kind: Kind
    /// Why no other token can be obtained: one word from the provider or from Martlet.
    package let reason: String
    /// When this process found out. The problem may have begun earlier.
    package let knownSince: WallTime
}

extension AccountIssue {
    /// The ``reason`` for an account whose provider fails for every account.
    package static let providerFailing = "provider_failing"
    /// The ``reason`` for an account if another server responds in the provider's place, for every account.
    package static let notProvider = "not_provider"
    /// The ``reason`` for an account that has only an access token.
    package static let noRefreshToken = "no_refresh_token"
    /// The ``reason`` for an account whose refresh token was not used for longer than the provider's `keep_alive`, or
    /// than it lives.
    package static let unusedTooLong = "unused_too_long"
}
