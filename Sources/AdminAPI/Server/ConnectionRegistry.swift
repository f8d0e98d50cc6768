package import SystemSupport

/// Assigns a listener's places to connections, and decides which connection a newcomer replaces when all places are
/// taken.
///
///     waiting ⇄ asking, hopeless
///     waiting, asking, hopeless → idle ⇄ busy
///
/// Connections that cost an attacker nothing must not keep out a client with a token. So a newcomer always gets a
/// place as long as some connection with a place has not shown a valid token. Connections are closed in this order:
/// first those with a wrong token, even while they wait for the refusal; then those without a request; then those
/// whose request has no response yet. Among connections of one kind, the one that has been in this state for longest
/// is closed first. If the places of a newcomer's network are taken, only connections of that network are considered.
///
/// A connection that has shown a valid token is closed only if all have shown one, and only while it has no request:
/// the one that is idle for longest. If all of them are busy, the newcomer is turned away.
package struct ConnectionRegistry<Connection: Hashable & Sendable>: Sendable {
    /// The number of places.
    package struct Places: Equatable, Sendable {
        /// The total.
        package let all: Int
        /// For connections of one network that have not shown a valid token.
        package let perNetwork: Int

        package init(all: Int, perNetwork: Int) {
            self.all = all
            self.perNetwork = perNetwork
        }
    }

    /// What the head of a request shows.
    package enum Showing: Sendable {
        case nothing
        /// A wrong token, even if its refusal is still delayed.
        case wrongToken
        case rightToken
    }

    /// The outcome for a newcomer.
    package enum Arrival: Equatable, Sendable {
        case admitted
        /// The newcomer is admitted, and the caller must close this connection.
        case admittedInPlace(of: Connection)
        /// All places belong to connections that have shown a valid token and whose requests have no response yet.
        case turnedAway
    }

    private struct Entry {
        let network: PeerNetwork?
        /// The ticket of its current position in a line. Its older tickets are void.
        var ticket: UInt64 = 0
        /// Requests without a response.
        var requests = 0
        var hasWrongToken = false
        /// The connection has shown a valid token at some time.
        var isKnown = false
    }

    private let places: Places
    private var entries: [Connection: Entry] = [:]
    /// Connections that have not shown a valid token, in the order in which they are closed.
    private var (hopeless, waiting, asking) = (Line(), Line(), Line())
    /// Connections that have shown a valid token and have no request, in the order in which they are closed.
    private var idle = Line()
    private var tickets: UInt64 = 0
    /// The number of connections that have not shown a valid token, by network.
    private var strangers: [PeerNetwork?: Int] = [:]

    package init(_ places: Places) {
        self.places = places
    }

    /// The number of connections that have a place.
    package var count: Int { self.entries.count }

    /// Gives a new connection a place, or turns it away.
    ///
    /// - Parameter network: where the connection comes from; `nil` if the system does not report it.
    package mutating func arrive(_ connection: Connection, from network: PeerNetwork?) -> Arrival {
        var leaving: Connection?
        if self.strangers[network, default: 0] >= self.places.perNetwork {
            leaving = self.firstToGo { $0.network == network }
        } else if self.entries.count >= self.places.all {
            leaving = self.firstToGo { _ in true } ?? self.idle.first(among: self.entries) { _ in true }
            guard leaving != nil else { return .turnedAway }
        }
        if let leaving { self.leave(leaving) }
        self.entries[connection] = Entry(network: network)
        self.strangers[network, default: 0] += 1
        self.lineUp(connection)
        return leaving.map { .admittedInPlace(of: $0) } ?? .admitted
    }

    /// Records that the head of a request has arrived.
    package mutating func ask(_ connection: Connection, showing: Showing = .nothing) {
        self.entries[connection]?.requests += 1
        switch showing {
        case .nothing: break
        case .wrongToken: self.entries[connection]?.hasWrongToken = true
        case .rightToken: self.admitStranger(connection)
        }
        self.lineUp(connection)
    }

    /// Records that a request has its response.
    package mutating func respond(_ connection: Connection) {
        self.entries[connection]?.requests -= 1
        self.lineUp(connection)
    }

    /// Records that a request was authenticated.
    package mutating func recognize(_ connection: Connection) {
        guard self.admitStranger(connection) else { return }
        self.lineUp(connection)
    }

    /// - Returns: whether the connection was a stranger until now.
    @discardableResult
    private mutating func admitStranger(_ connection: Connection) -> Bool {
        guard let entry = self.entries[connection], !entry.isKnown else { return false }
        self.entries[connection]?.isKnown = true
        self.forgetStranger(from: entry.network)
        return true
    }

    /// Records that the connection has ended. A connection that lost its place is ignored.
    package mutating func leave(_ connection: Connection) {
        guard let entry = self.entries.removeValue(forKey: connection), !entry.isKnown else { return }
        self.forgetStranger(from: entry.network)
    }

    private mutating func forgetStranger(from network: PeerNetwork?) {
        // A count of 0 is removed: otherwise the dictionary would keep every network forever.
        self.strangers[network] = self.strangers[network].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    private mutating func lineUp(_ connection: Connection) {
        guard let entry = self.entries[connection] else { return }
        self.tickets += 1
        self.entries[connection]?.ticket = self.tickets
        if entry.isKnown {
            // A busy connection is in no line.
            if entry.requests <= 0 { self.idle.append(connection, self.tickets, among: self.entries) }
        } else if entry.hasWrongToken {
            self.hopeless.append(connection, self.tickets, among: self.entries)
        } else if entry.requests > 0 {
            self.asking.append(connection, self.tickets, among: self.entries)
        } else {
            self.waiting.append(connection, self.tickets, among: self.entries)
        }
    }

    /// The connection to close first among those that have not shown a valid token.
    private mutating func firstToGo(where isMeant: (Entry) -> Bool) -> Connection? {
        self.hopeless.first(among: self.entries, where: isMeant)
            ?? self.waiting.first(among: self.entries, where: isMeant)
            ?? self.asking.first(among: self.entries, where: isMeant)
    }

    /// Connections in the order in which they lined up. An entry is skipped if its connection has left or lined up
    /// again. So a lookup costs the same however many connections there are: under attack, each new connection needs a
    /// lookup.
    private struct Line {
        private var items: [(connection: Connection, ticket: UInt64)] = []
        /// All items before this index are void.
        private var start = 0

        mutating func append(_ connection: Connection, _ ticket: UInt64, among entries: [Connection: Entry]) {
            if self.items.count > 2 * entries.count + 64 {
                self.items = self.items.filter { entries[$0.connection]?.ticket == $0.ticket }
                self.start = 0
            }
            self.items.append((connection, ticket))
        }

        mutating func first(
            among entries: [Connection: Entry],
            where isMeant: (Entry) -> Bool
        ) -> Connection? {
            for index in self.items[self.start...].indices {
                let (connection, ticket) = self.items[index]
                guard let entry = entries[connection], entry.ticket == ticket else {
                    if index == self.start { self.start += 1 }
                    continue
                }
                if isMeant(entry) { return connection }
            }
            return nil
        }
    }
}
