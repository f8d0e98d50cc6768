internal import Synchronization
internal import TokenModel

/// Flights that began by a configuration of before.
extension RefreshEngine {
    /// Why nothing more may be sent by `plan`, of whose account the configuration says something else by now; else `nil`.
    func obsolescence(of plan: AccountPlan) -> PassError? {
        self.state.withLock { $0.obsolescence(of: plan) }
    }

    /// The last word before a secret leaves; never waits for longer than another looks something up.
    func mayStillSend(by sendBy: BootInstant, for plan: AccountPlan) -> Bool {
        Failpoints.sending()
        return self.timepiece.now.boot <= sendBy && self.obsolescence(of: plan) == nil
    }
}

extension RefreshEngine.State {
    func obsolescence(of plan: AccountPlan) -> PassError? {
        guard let current = self.plans[plan.account] else { return .notConfigured(plan.account) }
        return plan.asks(like: current) ? nil : .reconfigured(plan.account)
    }
}
