package import Listening

/// Who has the places of a listener, and whose place a newcomer gets where all are taken.
///
///     waiting ⇄ asking, hopeless
///     waiting, asking, hopeless → idle ⇄ busy
///
/// Connections that cost an attacker nothing must not keep out somebody with a token. So a place is never refused as long
/// as a connection has one that has not shown a token. The first to go are those with a wrong token, also while it
/// waits for its refusal, then those that ask nothing, and then those whose request is not answered yet; of each
/// kind the one that is it for longest. One that has shown a token goes only where all have, and only while it asks
/// nothing: the one that is idle for longest. Where all of them are busy the newcomer is turned away.
package struct ConnectionRegistry<Connection: Hashable & Sendable>: Sendable {
    /// How many places there are.
    package struct Places: Equatable, Sendable {
        /// In all.
        package let all: Int
        /// For connections of one network that have not shown a token.
        package let perNetwork: Int

        package init(all: Int, perNetwork: Int) {
            self.all = all
            self.perNetwork = perNetwork
        }
    }

    /// What the head of a request shows.
    package enum Showing: Sendable {
        case nothing
        /// A token that is wrong, whenever that will be said.
        case wrongToken
        case rightToken
    }

    /// What becomes of a newcomer.
    package enum Arrival: Equatable, Sendable {
        case admitted
        /// This one has to be closed.
        case admittedInPlace(of: Connection)
        /// All places are of connections that have shown a token, and whose requests are not answered yet.
        case turnedAway
    }

    private struct Entry {
        let network: PeerNetwork?
        /// Of its last place in a line; those before are void.
        var ticket: UInt64 = 0
        /// Requests that have come and are not answered.
        var requests = 0
        var isHopeless = false
        /// It has shown a token once.
        var isKnown = false
    }

    private let places: Places
    private var entries: [Connection: Entry] = [:]
    /// Those that have not shown a token, in the order in which they go.
    private var (hopeless, waiting, asking) = (Line(), Line(), Line())
    /// Those that have shown a token and ask nothing, in the order in which they go.
    private var idle = Line()
    private var tickets: UInt64 = 0
    /// How many have not shown a token.
    private var strangers: [PeerNetwork?: Int] = [:]

    package init(_ places: Places) {
        self.places = places
    }

    /// Connections that have a place.
    package var count: Int { self.entries.count }

    /// A connection is made.
    ///
    /// - Parameter network: where it comes from; `nil` where the system does not say.
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

    /// The head of a request has come.
    package mutating func ask(_ connection: Connection, showing: Showing = .nothing) {
        self.entries[connection]?.requests += 1
        switch showing {
        case .nothing: break
        case .wrongToken: self.entries[connection]?.isHopeless = true
        case .rightToken: self.admitStranger(connection)
        }
        self.lineUp(connection)
    }

    /// A request is answered.
    package mutating func respond(_ connection: Connection) {
        self.entries[connection]?.requests -= 1
        self.lineUp(connection)
    }

    /// A request showed a token, or what stands for one.
    package mutating func recognize(_ connection: Connection) {
        guard self.admitStranger(connection) else { return }
        self.lineUp(connection)
    }

    /// - Returns: whether it was one till now.
    @discardableResult
    private mutating func admitStranger(_ connection: Connection) -> Bool {
        guard let entry = self.entries[connection], !entry.isKnown else { return false }
        self.entries[connection]?.isKnown = true
        self.forgetStranger(from: entry.network)
        return true
    }

    /// The connection has ended; one that lost its place has no part in this any more.
    package mutating func leave(_ connection: Connection) {
        guard let entry = self.entries.removeValue(forKey: connection), !entry.isKnown else { return }
        self.forgetStranger(from: entry.network)
    }

    private mutating func forgetStranger(from network: PeerNetwork?) {
        // Else each network that ever came would be remembered.
        self.strangers[network] = self.strangers[network].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    private mutating func lineUp(_ connection: Connection) {
        guard let entry = self.entries[connection] else { return }
        self.tickets += 1
        self.entries[connection]?.ticket = self.tickets
        if entry.isKnown {
            // One that is busy stands in no line.
            if entry.requests <= 0 { self.idle.append(connection, self.tickets, among: self.entries) }
        } else if entry.isHopeless {
            self.hopeless.append(connection, self.tickets, among: self.entries)
        } else if entry.requests > 0 {
            self.asking.append(connection, self.tickets, among: self.entries)
        } else {
            self.waiting.append(connection, self.tickets, among: self.entries)
        }
    }

    /// Of those that have not shown a token.
    private mutating func firstToGo(where isMeant: (Entry) -> Bool) -> Connection? {
        self.hopeless.first(among: self.entries, where: isMeant)
            ?? self.waiting.first(among: self.entries, where: isMeant)
            ?? self.asking.first(among: self.entries, where: isMeant)
    }

    /// Connections in the order in which they lined up. One that has left, or lined up again, is passed over, so that a place
    /// costs the same however many there are: under a siege one is looked for with each connection that is made.
    private struct Line {
        private var items: [(connection: Connection, ticket: UInt64)] = []
        /// Before it all are void.
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
