import Synchronization

/// Places, or bytes, that all event loops share, and that there are only so many of.
package final class SharedLimit: Sendable {
    private let mostTaken: Atomic<Int>
    private let count = Atomic<Int>(0)

    package init(_ limit: Int) {
        self.mostTaken = Atomic(limit)
    }

    /// How many there are. Lowered below what is taken, it takes nothing from anyone, and lets nobody in until enough
    /// have left.
    package var limit: Int {
        get { self.mostTaken.load(ordering: .relaxed) }
        set { self.mostTaken.store(newValue, ordering: .relaxed) }
    }

    /// Places that are taken now.
    package var taken: Int { self.count.load(ordering: .relaxed) }

    /// There is no place left.
    package var isFull: Bool { self.taken >= self.limit }

    /// More are taken than there are.
    package var isOver: Bool { self.taken > self.limit }

    /// Takes places, if there are so many.
    package func enter(_ places: Int = 1) -> Bool {
        guard self.count.add(places, ordering: .relaxed).newValue <= self.limit else {
            self.leave(places)
            return false
        }
        return true
    }

    /// Takes places, be there so many or not: for what can't be refused any more.
    package func take(_ places: Int = 1) {
        self.count.add(places, ordering: .relaxed)
    }

    /// Gives places back.
    package func leave(_ places: Int = 1) {
        self.count.subtract(places, ordering: .relaxed)
    }
}

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
    /// Requests that wait for credentials.
    let waiters: SharedLimit
    /// Bytes of bodies that are kept so that they can be sent, or sent again.
    let replayMemory: SharedLimit

    init(_ plan: ProxyConfiguration) {
        self.connections = SharedLimit(plan.connections)
        self.addresses = AddressLimit(plan.connectionsPerAddress)
        self.upstreams = SharedLimit(plan.connections)
        self.waiters = SharedLimit(plan.waiters)
        self.replayMemory = SharedLimit(plan.replayMemory)
    }

    /// Takes over the limits of another plan. Who is there already stays, however low they are.
    func reload(_ plan: ProxyConfiguration) {
        self.connections.limit = plan.connections
        self.addresses.limit = plan.connectionsPerAddress
        self.upstreams.limit = plan.connections
        self.waiters.limit = plan.waiters
        self.replayMemory.limit = plan.replayMemory
    }
}
