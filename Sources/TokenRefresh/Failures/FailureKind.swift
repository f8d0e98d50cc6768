package import TokenStorage

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
