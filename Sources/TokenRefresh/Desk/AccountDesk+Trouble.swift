internal import TokenModel
internal import TokenStorage

/// What is wrong with an account while its access token may still be valid.
extension AccountDesk {
    /// Takes note that an upstream answered 401 to the token set that a wish names, where that is the current one.
    mutating func noteRefusal(in wish: Wish, now: BootInstant) {
        guard case .pass(refused: let generation?) = wish, let mark = self.sight?.mark, mark.generation == generation
        else { return }
        self.noteRefusal(of: mark, now: now)
    }

    /// The same of a token set that is known.
    mutating func noteRefusal(of mark: TokenMark, now: BootInstant) {
        guard self.sight?.mark == mark, self.refusal?.of != mark else { return }
        self.refusal = (mark, now)
    }

    /// Keeps since when no other token set is to be had, however often that is tried.
    mutating func noteTrouble(at now: BootInstant) {
        self.troubledSince = self.ownCause(at: now)?.since
    }

    /// Whether the provider refused the client, or what it asks for the account, when it was asked last, or may have.
    func isClientRefused(at now: BootInstant) -> Bool {
        let record = self.sight?.entry?.record
        let isUnclear =
            record?.binding.match(self.binding) == .same && record?.trouble.map { TroubleKind(of: $0) } == .refused
        return isUnclear || self.ownCause(at: now)?.kind == .clientRefused
    }

    /// What is wrong, if anything.
    ///
    /// A 401 alone is nothing: the refresh that it leads to may be under way, and an upstream that refuses what that brought
    /// refuses everything.
    ///
    /// - Parameter gate: the provider's.
    func trouble(_ gate: ProviderGate?, now: Moment) -> AccountTrouble? {
        let causes = [self.ownCause(at: now.boot), TroubleCause(gate, now: now.boot)].compactMap { $0 }
        guard let cause = causes.first(where: { $0.kind == .clientRefused }) ?? causes.first else { return nil }
        if let refusal, refusal.of == self.sight?.mark, self.sight?.freshness.isUsable(at: now.boot) == true {
            return AccountTrouble(
                kind: .tokenRefused,
                reason: cause.reason,
                knownSince: now.wallTime(at: max(refusal.at, cause.since))
            )
        }
        return AccountTrouble(kind: cause.kind, reason: cause.reason, knownSince: now.wallTime(at: cause.since))
    }

    /// Why this account has no other token set than the current one.
    private func ownCause(at now: BootInstant) -> TroubleCause? {
        let since = self.troubledSince ?? now
        let record = self.sight?.entry?.record
        if let record, let trouble = record.trouble, record.binding.match(self.binding) == .same {
            let kind: AccountTrouble.Kind = TroubleKind(of: trouble).isOfClient ? .clientRefused : .refreshFailing
            return TroubleCause(kind: kind, reason: trouble.reason, since: since)
        }
        if let finding, let cause = TroubleCause(finding, since: since) { return cause }
        guard !self.mints, let tokens = record?.tokens, tokens.refreshToken == nil else { return nil }
        return TroubleCause(kind: .refreshFailing, reason: AccountTrouble.noRefreshToken, since: since)
    }
}

private struct TroubleCause {
    let kind: AccountTrouble.Kind
    let reason: String
    let since: BootInstant

    init(kind: AccountTrouble.Kind, reason: String, since: BootInstant) {
        self.kind = kind
        self.reason = reason
        self.since = since
    }

    /// What the end of a flight says, where the account's state does not say it.
    init?(_ error: PassError, since: BootInstant) {
        switch error.code {
        case .providerConfig where error.isNotProvider:
            self.init(kind: .refreshFailing, reason: error.word, since: since)
        case .providerConfig: self.init(kind: .clientRefused, reason: error.code.rawValue, since: since)
        case .refreshFailed:
            self.init(kind: .refreshFailing, reason: error.word, since: since)
        case .storeLost, .overloaded, .reauthorizationRequired, .accountEmpty, .accountUnreadable, .killed: return nil
        }
    }

    /// What a provider that is asked nothing just now means to an account that was not tried itself.
    init?(_ gate: ProviderGate?, now: BootInstant) {
        guard let gate else { return nil }
        let since = gate.heldSince ?? now
        switch gate.standing {
        case .refusesClient:
            self.init(kind: .clientRefused, reason: PassError.Code.providerConfig.rawValue, since: since)
        case .failing: self.init(kind: .refreshFailing, reason: AccountTrouble.providerFailing, since: since)
        case .notProvider: self.init(kind: .refreshFailing, reason: AccountTrouble.notProvider, since: since)
        case .answering: return nil
        }
    }
}

extension FlightOutcome {
    /// Whether the error it ended with says something of the provider or the grant. What does not leaves what was known of
    /// them as it is.
    func tells(of error: PassError) -> Bool {
        switch error.code {
        // Of the store the gateway's readiness tells.
        case .storeLost, .overloaded, .accountUnreadable: false
        // Else it was the gateway that did not ask: its own bounds, a reload, another process's claim.
        case .refreshFailed: error.restraint == nil && (self.uses > 0 || self.setback != nil)
        case .providerConfig, .reauthorizationRequired, .accountEmpty, .killed: true
        }
    }
}

extension TroubleKind {
    /// The provider knows what it refuses: the client, or what that asks for.
    fileprivate var isOfClient: Bool {
        switch self {
        case .config, .accountConfig: true
        case .notSent, .ambiguous, .throttled, .refused, .notProvider, .dead: false
        }
    }
}

extension Moment {
    /// What the wall clock would have shown at an earlier moment, had it never jumped.
    fileprivate func wallTime(at instant: BootInstant) -> WallTime {
        self.wall.advanced(by: .zero - max(instant.duration(to: self.boot), .zero))
    }
}
