/// The process is alive.
struct HealthResponse: Encodable, Sendable {
    let alive = true
}

/// Whether callers would be served, and the checks that decide it.
struct ReadinessResponse: Encodable, Sendable {
    let ready: Bool
    /// `true` while the process stops on purpose, otherwise left out. Closed listeners are no fault then.
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
