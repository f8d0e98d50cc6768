/// Finds the kill that an order has begun, whose id nobody is told before its answer: in the list of all, by what it says.
/// From then on it alone is asked for, as each report is read from the store anew.
package struct KillSighting: Sendable {
    private let scope: ScopeReply
    private let reason: String
    private var id: String?

    package init(of scope: ScopeReply, reason: String) {
        self.scope = scope
        self.reason = reason
    }

    /// What to ask next.
    package var request: AdminRequest { self.id.map { .killReport($0) } ?? .kills }

    /// The kill by the answer to ``request``; `nil` where that does not tell, or the kill is complete.
    package mutating func kill(in reply: AdminReply) -> KillReply? {
        guard self.id == nil else {
            let kill = try? reply.read(KillReply.self)
            return kill?.isComplete == false ? kill : nil
        }
        let kills = try? reply.read(KillsReply.self).kills
        let kill = kills?.first { $0.scope == self.scope && $0.reason == self.reason && !$0.isComplete }
        self.id = kill?.id
        return kill
    }
}
