/// The requests of all event loops whose body has no length and is still coming: at most a quarter of the connections
/// that there may be, and an eighth for each caller.
package final class OpenBodies: Sendable {
    private let all: SharedLimit
    private let callers: KeyedLimit<String>

    /// - Parameter connections: how many connections of callers there may be.
    package init(_ connections: Int) {
        self.all = SharedLimit(Self.share(4, of: connections))
        self.callers = KeyedLimit(Self.share(8, of: connections))
    }

    func reload(_ connections: Int) {
        self.all.limit = Self.share(4, of: connections)
        self.callers.limit = Self.share(8, of: connections)
    }

    private static func share(_ divisor: Int, of connections: Int) -> Int { max(connections / divisor, 1) }

    /// - Parameter caller: its name; `nil` where the configuration names no callers.
    /// - Returns: whether there was a place for another one.
    package func enter(_ caller: String?) -> Bool {
        guard self.all.enter() else { return false }
        guard let caller, !self.callers.enter(caller) else { return true }
        self.all.leave()
        return false
    }

    package func leave(_ caller: String?) {
        self.all.leave()
        if let caller { self.callers.leave(caller) }
    }
}
