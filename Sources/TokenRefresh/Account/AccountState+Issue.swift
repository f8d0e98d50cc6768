internal import TokenModel
internal import TokenStorage

/// Problems of an account whose access token may still be valid.
extension AccountState {
    /// Records that an upstream responded 401 to the token set that `request` names, if that is the current one.
    mutating func noteRefusal(in request: CredentialRequest, now: BootInstant) {
        guard case .credential(refused: let generation?) = request, let tokenVersion = self.snapshot?.tokenVersion,
            tokenVersion.generation == generation
        else { return }
        self.noteRefusal(of: tokenVersion, now: now)
    }

    /// Records that an upstream responded 401 to `tokenVersion`, if that is the current token set.
    mutating func noteRefusal(of tokenVersion: TokenVersion, now: BootInstant) {
        guard self.snapshot?.tokenVersion == tokenVersion, self.refusal?.of != tokenVersion else { return }
        self.refusal = (tokenVersion, now)
    }

    /// Records since when no other token set can be obtained. Further failed tries do not change that moment.
    mutating func noteIssue(at now: BootInstant) {
        self.issueSince = self.ownCause(at: now)?.since
    }

    /// Whether the provider's last response refused, or may have refused, the client or its request for this account.
    func isClientRefused(at now: BootInstant) -> Bool {
        let record = self.snapshot?.entry?.record
        let isUnclear =
            record?.binding.match(self.binding) == .same
            && record?.failureRecord.map { FailureKind(of: $0) } == .refused
        return isUnclear || self.ownCause(at: now)?.kind == .clientRefused
    }

    /// The account's issue; `nil` if nothing is wrong.
    ///
    /// A 401 alone is no issue. The refresh that it leads to may be in progress, and an upstream that refuses the new
    /// token as well refuses everything.
    ///
    /// - Parameter gate: the gate of the account's provider.
    func issue(_ gate: ProviderGate?, now: Moment) -> AccountIssue? {
        let causes = [self.ownCause(at: now.boot), IssueCause(gate, now: now.boot)].compactMap { $0 }
        guard let cause = causes.first(where: { $0.kind == .clientRefused }) ?? causes.first else { return nil }
        if let refusal, refusal.of == self.snapshot?.tokenVersion,
            self.snapshot?.freshness.isUsable(at: now.boot) == true
        {
            return AccountIssue(
                kind: .tokenRefused,
                reason: cause.reason,
                knownSince: now.wallTime(at: max(refusal.at, cause.since))
            )
        }
        return AccountIssue(kind: cause.kind, reason: cause.reason, knownSince: now.wallTime(at: cause.since))
    }

    /// Why this account can't get another token set than the current one.
    private func ownCause(at now: BootInstant) -> IssueCause? {
        let since = self.issueSince ?? now
        let record = self.snapshot?.entry?.record
        if let record, let failureRecord = record.failureRecord, record.binding.match(self.binding) == .same {
            let kind: AccountIssue.Kind = FailureKind(of: failureRecord).isOfClient ? .clientRefused : .refreshFailing
            return IssueCause(kind: kind, reason: failureRecord.reason, since: since)
        }
        if let finding, let cause = IssueCause(finding, since: since) { return cause }
        guard !self.mints, let tokens = record?.tokens, tokens.refreshToken == nil else { return nil }
        return IssueCause(kind: .refreshFailing, reason: AccountIssue.noRefreshToken, since: since)
    }
}

private struct IssueCause {
    let kind: AccountIssue.Kind
    let reason: String
    let since: BootInstant

    init(kind: AccountIssue.Kind, reason: String, since: BootInstant) {
        self.kind = kind
        self.reason = reason
        self.since = since
    }

    /// The cause that a flight's error gives; `nil` if the account's state already shows it.
    init?(_ error: CredentialError, since: BootInstant) {
        switch error.code {
        case .providerConfig where error.isNotProvider:
            self.init(kind: .refreshFailing, reason: error.word, since: since)
        case .providerConfig: self.init(kind: .clientRefused, reason: error.code.rawValue, since: since)
        case .refreshFailed:
            self.init(kind: .refreshFailing, reason: error.word, since: since)
        case .storeLost, .overloaded, .reauthorizationRequired, .accountEmpty, .accountUnreadable, .killed, .locked,
            .approvalRequired:
            return nil
        }
    }

    /// The cause that a held provider gives for an account that was not tried itself.
    init?(_ gate: ProviderGate?, now: BootInstant) {
        guard let gate else { return nil }
        let since = gate.heldSince ?? now
        switch gate.availability {
        case .refusesClient:
            self.init(kind: .clientRefused, reason: CredentialError.Code.providerConfig.rawValue, since: since)
        case .failing: self.init(kind: .refreshFailing, reason: AccountIssue.providerFailing, since: since)
        case .notProvider: self.init(kind: .refreshFailing, reason: AccountIssue.notProvider, since: since)
        case .answering: return nil
        }
    }
}

extension FlightOutcome {
    /// Whether the flight's error tells anything about the provider or the grant. An error that does not leaves the
    /// known state of both unchanged.
    func tells(of error: CredentialError) -> Bool {
        switch error.code {
        // The gateway's readiness reports problems of the store.
        case .storeLost, .overloaded, .accountUnreadable, .locked, .approvalRequired: false
        // Otherwise the gateway itself did not ask, because of its own limits, a reload or another process's claim.
        case .refreshFailed: error.restraint == nil && (self.uses > 0 || self.failure != nil)
        case .providerConfig, .reauthorizationRequired, .accountEmpty, .killed: true
        }
    }
}

extension FailureKind {
    /// The provider explicitly refuses the client or the client's request.
    fileprivate var isOfClient: Bool {
        switch self {
        case .config, .accountConfig: true
        case .notSent, .ambiguous, .throttled, .refused, .notProvider, .dead: false
        }
    }
}

extension Moment {
    /// What the wall clock would have shown at an earlier moment if it had never jumped.
    fileprivate func wallTime(at instant: BootInstant) -> WallTime {
        self.wall.advanced(by: .zero - max(instant.duration(to: self.boot), .zero))
    }
}
