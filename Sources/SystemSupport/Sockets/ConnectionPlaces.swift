package import NIOCore
internal import Synchronization

/// The places of a listener's connections, over all its event loops.
///
///     newcomer ──▶ stranger ──▶ known ⇄ resting
///
/// A connection that costs its peer nothing must not keep out one that shows who it is. So when all places are taken, a
/// newcomer gets that of a stranger, which has authenticated no request yet: of the one that came first, whether it is
/// silent, in its TLS handshake, or in the middle of a head. Where there is none, the known connection that has rested
/// for longest gives way, if the listener says which ones rest. Otherwise the newcomer is turned away.
package final class ConnectionPlaces: Sendable {
    /// Fired through the pipeline of a connection whose place went to another one. It must end at once: it counts no
    /// more.
    package enum GivesWay: Sendable { case now }

    /// The outcome for a newcomer.
    package enum Arrival: Sendable {
        case admitted
        /// Another connection has to give way.
        case admittedInPlaceOfAnother
        case turnedAway
    }

    private struct Holder {
        let connection: any Channel
        var isKnown = false
        /// Its position in a line; 0 for none.
        var ticket: UInt64 = 0
    }

    private struct State {
        var limit: Int
        var holders: [ObjectIdentifier: Holder] = [:]
        /// Connections in the order in which they give way.
        var strangers = Line()
        var resting = Line()
        var tickets: UInt64 = 0

        mutating func lineUp(_ id: ObjectIdentifier, in line: WritableKeyPath<State, Line>) {
            self.tickets += 1
            self.holders[id]?.ticket = self.tickets
            let (ticket, holders) = (self.tickets, self.holders)
            self[keyPath: line].append(id, ticket, among: holders)
        }
    }

    /// Members are skipped that have left or lined up again since.
    private struct Line {
        private var members = CircularBuffer<(id: ObjectIdentifier, ticket: UInt64)>()

        mutating func append(_ id: ObjectIdentifier, _ ticket: UInt64, among holders: [ObjectIdentifier: Holder]) {
            if self.members.count > 2 * holders.count + 64 {
                self.members = CircularBuffer(self.members.filter { holders[$0.id]?.ticket == $0.ticket })
            }
            self.members.append((id, ticket))
        }

        mutating func popFirst(among holders: [ObjectIdentifier: Holder]) -> ObjectIdentifier? {
            while let (id, ticket) = self.members.popFirst() {
                if holders[id]?.ticket == ticket { return id }
            }
            return nil
        }
    }

    private let state: Mutex<State>

    package init(_ limit: Int) {
        self.state = Mutex(State(limit: limit))
    }

    /// How many places there are. If it is lowered, taken places stay taken.
    package var limit: Int {
        get { self.state.withLock(\.limit) }
        set { self.state.withLock { $0.limit = newValue } }
    }

    /// The connections that have a place.
    package var connections: [any Channel] { self.state.withLock { $0.holders.values.map(\.connection) } }

    /// Gives a new connection a place, or turns it away. Whoever gets one calls ``leave(_:)`` in the end.
    package func arrive(_ connection: any Channel) -> Arrival {
        let id = ObjectIdentifier(connection)
        let (arrival, leaving) = self.state.withLock { state -> (Arrival, (any Channel)?) in
            var leaving: Holder?
            if state.holders.count >= state.limit {
                guard
                    let first = state.strangers.popFirst(among: state.holders)
                        ?? state.resting.popFirst(among: state.holders)
                else { return (.turnedAway, nil) }
                leaving = state.holders.removeValue(forKey: first)
            }
            state.holders[id] = Holder(connection: connection)
            state.lineUp(id, in: \.strangers)
            return (leaving == nil ? .admitted : .admittedInPlaceOfAnother, leaving?.connection)
        }
        leaving?.pipeline.fireUserInboundEventTriggered(GivesWay.now)
        return arrival
    }

    /// Notes that a connection has authenticated a request, which is in progress: it keeps its place.
    ///
    /// - Returns: whether it still has one.
    @discardableResult
    package func recognize(_ connection: any Channel) -> Bool {
        self.state.withLock { state in
            let id = ObjectIdentifier(connection)
            state.holders[id]?.isKnown = true
            state.holders[id]?.ticket = 0
            return state.holders[id] != nil
        }
    }

    /// Notes that a connection has no request any more. A stranger stays one.
    package func rest(_ connection: any Channel) {
        self.state.withLock { state in
            let id = ObjectIdentifier(connection)
            if state.holders[id]?.isKnown == true { state.lineUp(id, in: \.resting) }
        }
    }

    /// Notes that a connection has a request again. A stranger stays one.
    package func wake(_ connection: any Channel) {
        self.state.withLock { state in
            let id = ObjectIdentifier(connection)
            if state.holders[id]?.isKnown == true { state.holders[id]?.ticket = 0 }
        }
    }

    /// Notes that a connection has ended, whether it still had its place or not.
    package func leave(_ connection: any Channel) {
        self.state.withLock { _ = $0.holders.removeValue(forKey: ObjectIdentifier(connection)) }
    }
}
