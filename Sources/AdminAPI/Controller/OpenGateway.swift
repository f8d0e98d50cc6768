package import Audit
package import KillSwitch
package import SignIn
internal import Synchronization
package import TokenRefresh

/// The parts of the gateway that operators act on. They exist while the gateway has its sealing key, and a lock takes them
/// away.
package struct OpenGateway: Sendable {
    /// Reads and changes the accounts; it must run for a refresh to end.
    let engine: RefreshEngine
    /// Kills and revives; it must run for a kill to be completed.
    let kills: KillSwitch
    /// Gets accounts tokens from people who sign in; it must run for a sign-in to be completed.
    package let signIns: SignInService?
    /// Records changes; it must run for wrong admin tokens to be recorded.
    let audit: AuditTrail
    /// Shows and empties the response caches.
    let caches: any GatewayCaches
    /// Approves the use of accounts; `nil` if no account needs that.
    let approvals: (any GatewayApprovals)?

    /// - Parameters:
    ///   - signIns: `nil` where nobody can sign in.
    ///   - approvals: `nil` if no account needs an approval.
    package init(
        engine: RefreshEngine,
        kills: KillSwitch,
        signIns: SignInService? = nil,
        audit: AuditTrail,
        caches: any GatewayCaches,
        approvals: (any GatewayApprovals)? = nil
    ) {
        self.engine = engine
        self.kills = kills
        self.signIns = signIns
        self.audit = audit
        self.caches = caches
        self.approvals = approvals
    }
}

/// The gateway as the listeners for operators see it: open, or locked.
package final class CurrentGateway: Sendable {
    /// The replica's name, for display only.
    package let name: String
    private let state: Mutex<OpenGateway?>

    /// - Parameter open: `nil` for a gateway that is locked.
    package init(name: String, _ open: OpenGateway? = nil) {
        self.name = name
        self.state = Mutex(open)
    }

    /// `nil` while the gateway is locked.
    package var open: OpenGateway? { self.state.withLock { $0 } }

    /// Requests act on `gateway` from now on; `nil` locks. A request in progress keeps what it began with.
    package func replace(with gateway: OpenGateway?) { self.state.withLock { $0 = gateway } }
}
