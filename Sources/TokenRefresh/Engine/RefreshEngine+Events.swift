internal import Logging
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// What operators hear of, once each.
extension RefreshEngine {
    /// What a flight's end is worth telling.
    func events(
        of plan: AccountConfiguration,
        _ outcome: FlightOutcome,
        _ changes: ProviderGate.Changes,
        at now: Moment,
        _ state: inout State
    ) -> [RefreshEvent] {
        var events: [RefreshEvent] = []
        func tell(_ kind: RefreshEvent.Kind, of account: AccountID?, _ reason: String?) {
            events.append(
                RefreshEvent(
                    kind,
                    provider: plan.provider,
                    account: account,
                    reason: reason ?? kind.rawValue,
                    at: now.wall
                )
            )
        }
        let reason = outcome.snapshot?.entry?.record.failureRecord?.reason
        if outcome.declaredDead { tell(.reauthorizationRequired, of: plan.account, reason) }
        if changes.refusesClient == true { tell(.providerConfig, of: nil, reason) }
        guard case .failed(let error) = outcome.result else { return events }
        switch (error.code, outcome.failure) {
        case (.providerConfig, .accountConfig?):
            if state.accountStates[plan.account]?.beginOutage(.providerConfig, now: now.boot) == true {
                tell(.providerConfig, of: plan.account, reason)
            }
        case (.providerConfig, _) where error.isNotProvider:
            // All of a provider's accounts meet it: the first is told.
            if state.accountStates[plan.account]?.beginOutage(.providerConfig, now: now.boot) == true,
                state.gates[plan.provider]?.tellsNotProvider() == true
            {
                tell(.providerConfig, of: plan.account, reason ?? AccountIssue.notProvider)
            }
        case (.refreshFailed, .refused?) where !plan.grant.mints:
            // Counted in the record, by whichever replica: the first of a row is told.
            if outcome.snapshot?.entry?.record.failureRecord?.tries == 1 {
                tell(.refusedWithoutReason, of: plan.account, reason)
            }
        case (.refreshFailed, .some):
            if state.accountStates[plan.account]?.beginOutage(.refreshFailed, now: now.boot) == true {
                tell(.refreshFailed, of: plan.account, reason)
            }
        case (.refreshFailed, nil) where state.gates[plan.provider]?.isFailing == true:
            if state.accountStates[plan.account]?.beginOutage(.refreshFailed, now: now.boot) == true {
                tell(.refreshFailed, of: plan.account, AccountIssue.providerFailing)
            }
        default: break
        }
        return events
    }

    /// Writes each into the log, and hands it on.
    func tell(_ events: [RefreshEvent]) {
        for event in events {
            var facts: Logger.Metadata = [
                LogField.event: "\(event.kind.rawValue)",
                LogField.provider: "\(event.provider)",
                LogField.reason: "\(event.reason)",
            ]
            if let account = event.account { facts[LogField.account] = "\(account)" }
            switch event.kind {
            case .reauthorizationRequired where event.reason.hasSuffix(AccountRecord.FailureRecord.lostProcess):
                self.logger.error(
                    """
                    a grant is dead, since a process ended or lost the store while its refresh token was being spent: \
                    somebody must sign in again or import tokens
                    """,
                    metadata: facts
                )
            case .reauthorizationRequired:
                self.logger.error("a grant is dead: somebody must sign in again or import tokens", metadata: facts)
            case .refusedWithoutReason:
                self.logger.error(
                    "a provider refuses and gives no reason: sign in again, or look at the client's id and secret",
                    metadata: facts
                )
            case .providerConfig where event.reason.hasPrefix(AccountIssue.notProvider):
                self.logger.error("something else than the provider answers at its token endpoint", metadata: facts)
            case .providerConfig where event.account == nil:
                self.logger.error("a provider refuses the client and is asked less often", metadata: facts)
            case .providerConfig:
                self.logger.error("a provider refuses what the client asks for an account", metadata: facts)
            case .refreshFailed:
                self.logger.warning("an account has no valid token and its refresh fails", metadata: facts)
            }
            self.onEvent(event)
        }
    }
}

extension AccountState {
    /// Takes note that there is no valid token and none could be had.
    ///
    /// - Returns: whether that is new: since the last token set, or the last reload.
    mutating func beginOutage(_ kind: RefreshEvent.Kind, now: BootInstant) -> Bool {
        // A token that an upstream has refused is none, however long it was to live.
        let isRefused = self.refusal != nil && self.refusal?.of == self.snapshot?.tokenVersion
        let isUsable = self.snapshot?.freshness.isUsable(at: now) == true && !isRefused
        return !isUsable && self.toldOutages.insert(kind).inserted
    }
}

/// Hands events on in the order they were posted, one at a time.
///
/// Whoever calls ``deliver()`` comes back only when all that was posted before has been received, by whomever: so a credential
/// that is given as an answer has been announced before.
final class EventRelay: Sendable {
    private let queue = Mutex<[CredentialEvent]>([])
    /// Held while events are received. The receiver must not come back here: it hands over and returns.
    private let delivery = Mutex(())
    private let receive: @Sendable (CredentialEvent) -> Void

    init(_ receive: @escaping @Sendable (CredentialEvent) -> Void) {
        self.receive = receive
    }

    /// Puts an event behind those posted before. Call it in the same critical section as the change it tells of.
    func post(_ event: CredentialEvent) {
        self.queue.withLock { $0.append(event) }
    }

    /// Delivers what was posted. Call it outside of any lock of the engine's.
    func deliver() {
        self.delivery.withLock { _ in
            while let events = self.take() {
                for event in events { self.receive(event) }
            }
        }
    }

    private func take() -> [CredentialEvent]? {
        self.queue.withLock { events in
            defer { events = [] }
            return events.isEmpty ? nil : events
        }
    }
}
