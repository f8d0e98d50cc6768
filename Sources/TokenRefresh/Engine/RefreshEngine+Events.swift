internal import Logging
internal import Synchronization
package import TokenModel
internal import TokenStorage

/// Events for operators, each reported once.
extension RefreshEngine {
    /// The events that a flight's end causes.
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
            // All of the provider's accounts have this problem. Only the first is reported.
            if state.accountStates[plan.account]?.beginOutage(.providerConfig, now: now.boot) == true,
                state.gates[plan.provider]?.reportNotProvider() == true
            {
                tell(.providerConfig, of: plan.account, reason ?? AccountIssue.notProvider)
            }
        case (.refreshFailed, .refused?) where !plan.grant.mints:
            // The record counts the refusals of all replicas. Only the first of a series is reported.
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

    /// Logs each event and passes it to ``onEvent``. Events of other origin, such as a missing approval, go this way too.
    package func tell(_ events: [RefreshEvent]) {
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
            case .approvalRequired:
                self.logger.warning("requests wait for an operator to approve an account", metadata: facts)
            }
            self.onEvent(event)
        }
    }
}

extension AccountState {
    /// Records that there is no valid token and none could be obtained.
    ///
    /// - Returns: whether this is new since the last token set or the last reload.
    mutating func beginOutage(_ kind: RefreshEvent.Kind, now: BootInstant) -> Bool {
        // A token that an upstream has refused is not valid, whatever its lifetime.
        let isRefused = self.refusal != nil && self.refusal?.of == self.snapshot?.tokenVersion
        let isUsable = self.snapshot?.freshness.isUsable(at: now) == true && !isRefused
        return !isUsable && self.reportedOutages.insert(kind).inserted
    }
}

/// Delivers events in the order in which they were posted, one at a time.
///
/// ``deliver()`` returns only when all events posted before have been received, whichever thread delivers them. So a
/// credential is announced before a caller gets it.
final class EventRelay: Sendable {
    private let queue = Mutex<[CredentialEvent]>([])
    /// Held while events are received. The receiver must not call this object; it passes the event on and returns.
    private let delivery = Mutex(())
    private let receive: @Sendable (CredentialEvent) -> Void

    init(_ receive: @escaping @Sendable (CredentialEvent) -> Void) {
        self.receive = receive
    }

    /// Appends an event to those posted before. Call this in the same critical section as the change that the event
    /// reports.
    func post(_ event: CredentialEvent) {
        self.queue.withLock { $0.append(event) }
    }

    /// Delivers the posted events. Call this without holding any lock of the engine.
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

/// The log metadata keys of this module.
enum LogField {
    static let account = "account.name"
    static let provider = "provider.name"
    static let issuer = "provider.issuer"
    static let generation = "token.generation"
    static let foundGeneration = "token.generation_found"
    static let endsAt = "token.ends_at"
    static let retryAfter = "refresh.retry_after_seconds"
    static let reason = "refresh.reason"
    static let uses = "refresh.uses"
    static let event = "event.name"
    static let code = "error.code"
    static let message = "error.reason"
}
