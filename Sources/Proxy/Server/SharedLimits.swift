/// What all event loops of a gateway share of things there are only so many of.
final class SharedLimits: Sendable {
    /// Connections that are told at once that there is no place for them; one more is closed without a word.
    static let turnedAway = 32

    /// Callers' connections.
    let connections: SharedLimit
    let addresses: AddressLimit
    let turnedAway = SharedLimit(SharedLimits.turnedAway)
    /// Sockets to upstreams, with those that are only tried. A request is never refused one for this: it is idle ones that
    /// go, and those that nobody waits for any more.
    let upstreams: SharedLimit
    /// Requests that wait for passes.
    let waiters: SharedLimit
    /// Bytes of bodies that are kept so that they can be sent, or sent again.
    let replayMemory: SharedLimit

    init(_ plan: ProxyPlan) {
        self.connections = SharedLimit(plan.connections)
        self.addresses = AddressLimit(plan.connectionsPerAddress)
        self.upstreams = SharedLimit(plan.connections)
        self.waiters = SharedLimit(plan.waiters)
        self.replayMemory = SharedLimit(plan.replayMemory)
    }

    /// Takes over the limits of another plan. Who is there already stays, however low they are.
    func follow(_ plan: ProxyPlan) {
        self.connections.limit = plan.connections
        self.addresses.limit = plan.connectionsPerAddress
        self.upstreams.limit = plan.connections
        self.waiters.limit = plan.waiters
        self.replayMemory.limit = plan.replayMemory
    }
}
