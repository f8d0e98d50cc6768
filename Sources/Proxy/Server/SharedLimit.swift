import Synchronization
import SystemSupport

/// A limited number of places, or bytes, that all event loops share.
package final class SharedLimit: Sendable {
    private let mostTaken: Atomic<Int>
    private let count = Atomic<Int>(0)

    package init(_ limit: Int) {
        self.mostTaken = Atomic(limit)
    }

    /// How many places there are. If it is lowered below ``taken``, taken places stay taken, and no place is given out
    /// until enough of them are given back.
    package var limit: Int {
        get { self.mostTaken.load(ordering: .relaxed) }
        set { self.mostTaken.store(newValue, ordering: .relaxed) }
    }

    /// Places that are taken now.
    package var taken: Int { self.count.load(ordering: .relaxed) }

    /// Whether no place is left.
    package var isFull: Bool { self.taken >= self.limit }

    /// Whether more places are taken than there are.
    package var isOver: Bool { self.taken > self.limit }

    /// Takes places, if that many are left.
    package func enter(_ places: Int = 1) -> Bool {
        guard self.count.add(places, ordering: .relaxed).newValue <= self.limit else {
            self.leave(places)
            return false
        }
        return true
    }

    /// Takes places even if not that many are left: for what can't be refused any more.
    package func take(_ places: Int = 1) {
        self.count.add(places, ordering: .relaxed)
    }

    /// Gives places back.
    package func leave(_ places: Int = 1) {
        self.count.subtract(places, ordering: .relaxed)
    }
}

/// The limits that all event loops of a gateway share.
final class SharedLimits: Sendable {
    /// Number of connections over the limit that may be told so at the same time; any more are closed without a reply.
    static let turnedAway = 32

    /// Callers' connections.
    let connections: ConnectionPlaces
    let addresses: AddressLimit
    let turnedAway = SharedLimit(SharedLimits.turnedAway)
    /// Sockets to upstreams, with those still connecting. No request is refused because of this limit: idle connections
    /// are closed instead, and connecting ones that no request waits for.
    let upstreams: SharedLimit
    /// Requests whose body has no length and is still coming. Such a body may take as long as its caller likes.
    let openBodies: OpenBodies
    /// Requests that wait for credentials.
    let waiters: SharedLimit
    /// Bytes of request bodies that are kept to be sent or replayed.
    let replayMemory: SharedLimit

    init(_ plan: ProxyConfiguration) {
        self.connections = ConnectionPlaces(plan.connections)
        self.addresses = AddressLimit(plan.connectionsPerAddress)
        self.upstreams = SharedLimit(plan.connections)
        self.openBodies = OpenBodies(plan.connections)
        self.waiters = SharedLimit(plan.waiters)
        self.replayMemory = SharedLimit(plan.replayMemory)
    }

    /// Takes over the limits of another plan. Connections and requests that are there already stay, however low the
    /// limits are.
    func reload(_ plan: ProxyConfiguration) {
        self.connections.limit = plan.connections
        self.addresses.limit = plan.connectionsPerAddress
        self.upstreams.limit = plan.connections
        self.openBodies.reload(plan.connections)
        self.waiters.limit = plan.waiters
        self.replayMemory.limit = plan.replayMemory
    }
}
