/// The process answers.
struct HealthResponse: Encodable, Sendable {
    let alive = true
}

/// Whether callers would be served, and what that hangs on.
struct ReadinessResponse: Encodable, Sendable {
    let ready: Bool
    /// `true` while it ends on purpose, else left out: then its closed listeners are no fault.
    let stopping: Bool?
    let checks: Checks

    init(_ vitals: GatewayVitals) {
        self.ready = vitals.isReady
        self.stopping = vitals.isStopping ? true : nil
        self.checks = Checks(
            storeOpen: vitals.store.isOpen,
            listenersBound: vitals.areListenersBound,
            leaseHeld: vitals.isLeaseHeld
        )
    }

    struct Checks: Encodable, Sendable {
        let storeOpen: Bool
        let listenersBound: Bool
        let leaseHeld: Bool

        private enum CodingKeys: String, CodingKey {
            case storeOpen = "store_open"
            case listenersBound = "listeners_bound"
            case leaseHeld = "lease_held"
        }
    }
}
