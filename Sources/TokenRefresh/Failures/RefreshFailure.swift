package import OAuth
package import TokenStorage

/// How a flight ended without tokens, and what that leaves in the record for the next one, in whichever replica.
package enum RefreshFailure: Equatable, Sendable {
    case notSent(VerdictReason)
    case ambiguous(VerdictReason)
    /// A replica ended, or lost the store, between its claim and its answer.
    case claimBroken
    case throttled(retryAfter: Duration)
    case config(VerdictReason)
    case accountConfig(VerdictReason)
    case refused(VerdictReason)
    case notProvider(VerdictReason)
    case dead(VerdictReason)

    /// The record's trouble after this failure.
    ///
    /// Flights are counted in a row of one kind: an outage that lasted an hour must not turn the first refusal after
    /// it into the third.
    ///
    /// - Parameters:
    ///   - previous: what the record says so far about this generation.
    ///   - spent: what is known by now about the refresh token.
    ///   - mints: whether no refresh token is at stake: then no refusal is final.
    ///   - jitter: drawn evenly from 0 to 1.
    package func failureRecord(
        after previous: AccountRecord.FailureRecord?,
        spent: AccountRecord.FailureRecord.Spent,
        mints: Bool = false,
        jitter: Double
    ) -> AccountRecord.FailureRecord {
        let counts = previous.map { FailureKind(of: $0).counting == self.kind.counting } ?? false
        // Held where a stored number, however absurd, can't overflow.
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
            // The provider as a whole is held, in each process; its first success must not leave this account behind.
            failureRecord.retryIn = .zero
        case .accountConfig:
            failureRecord.retryIn = Self.doubled(.seconds(30), tries: tries, atMost: .seconds(300))
        case .refused where mints, .dead where mints:
            failureRecord.retryIn = Self.doubled(.seconds(5), tries: tries, atMost: .seconds(300))
        case .refused:
            // The refresh token may be dead, and the client may be wrong: only a person can tell.
            failureRecord.retryIn = .seconds(3_600)
        case .notProvider:
            // Soon for what passes by itself, such as a proxy that starts; then seldom enough for a firewall.
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

/// What a record's trouble is about: the first word of its reason (`not_sent.connect_failed`).
///
/// The reason is what a record keeps and an operator is shown; its first word is what the engine goes by.
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

    /// Reads a record's trouble. A reason that begins with no word of ours counts as ambiguous, the most careful kind.
    package init(of failureRecord: AccountRecord.FailureRecord) {
        let word = failureRecord.reason.prefix { $0 != "." }
        self = FailureKind(rawValue: String(word)) ?? (failureRecord.dead ? .dead : .ambiguous)
    }

    /// Kinds of one group share a count of tries: a failing provider shows itself now in one way, now in another.
    package enum Counting: Sendable { case outage, clientRefused, accountRefused, refused, dead }

    /// The group whose tries this kind counts among.
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
    /// Whether somebody must sign in again. Earlier versions set `dead` also after three answers without a reason, which a
    /// proxy may have given: those are no end.
    package var endsGrant: Bool { self.dead && FailureKind(of: self) != .refused }

    /// How the reason ends from the moment that a process was lost while it spent the refresh token, for as long as that is
    /// in doubt: what the provider says later may be by that.
    static let lostProcess = ".claim_broken"

    var isAfterLostProcess: Bool { self.reason.hasSuffix(Self.lostProcess) }
}
