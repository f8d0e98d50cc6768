internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Flights that began by a configuration of before, or before a kill or a stop.
extension RefreshEngine {
    /// Why nothing more may be sent by `plan`, of whose account the configuration says something else by now, or that was
    /// killed, or since this process stops and does not begin to wait for an answer any more; else `nil`.
    func obsolescence(of plan: AccountConfiguration) -> CredentialError? {
        self.state.withLock { $0.obsolescence(of: plan) }
    }

    /// The last word before a secret leaves; never waits for longer than another looks something up.
    ///
    /// - Parameter spent: the token set whose refresh token it is; `nil` for a mint.
    func mayStillSend(by sendBy: BootInstant, for plan: AccountConfiguration, spending spent: TokenVersion? = nil)
        -> Bool
    {
        Failpoints.sending()
        guard self.timepiece.now.boot <= sendBy, self.obsolescence(of: plan) == nil else { return false }
        guard let spent else { return true }
        return self.state.withLock { $0.accountStates[plan.account]?.knowsLater(than: spent) != true }
    }
}

extension RefreshEngine.State {
    func obsolescence(of plan: AccountConfiguration) -> CredentialError? {
        guard self.stopping == .no else { return .stopping(plan.account) }
        guard let current = self.plans[plan.account] else { return .notConfigured(plan.account) }
        let record = self.accountStates[plan.account]?.snapshot?.entry?.record
        switch self.epochs.verdict(on: record, of: plan.account, at: plan.provider) {
        case .killed: return .killed(plan.account)
        case .dead where !plan.grant.mints: return .killed(plan.account)
        case .live, .dead: break
        }
        return plan.asks(like: current) ? nil : .reconfigured(plan.account)
    }

    /// Whether the configuration still asks as `plan` does. A kill changes nothing in that.
    func asks(like plan: AccountConfiguration) -> Bool {
        self.plans[plan.account].map { plan.asks(like: $0) } ?? false
    }
}
