/// A kill as text for people.
package struct KillText: Sendable {
    private let times: RelativeTime

    package init(times: RelativeTime) {
        self.times = times
    }

    /// All kills, separated by empty lines, with a note if the list may be incomplete.
    package func lines(_ list: KillsReply) -> [String] {
        guard !list.kills.isEmpty else {
            return [
                list.isIncomplete ? "unknown: the store can't be read, and this replica has heard of none" : "no kills"
            ]
        }
        let doubt = "perhaps not all: the store can't be read; there may be kills that this replica has not heard of"
        let blocks = (list.isIncomplete ? [[doubt]] : []) + list.kills.map { self.lines($0) }
        return Array(blocks.joined(separator: [""]))
    }

    /// A kill's scope and progress, the missing replicas, and the outcome for its tokens.
    package func lines(_ kill: KillReply) -> [String] {
        var facts = FactList()
        facts.add("kill", "\(kill.id), \(kill.scope.text)")
        facts.add("reason", kill.reason)
        facts.add("ordered", self.times.longText(kill.startedAt))
        facts.add("state", self.state(kill))
        if let revivedAt = kill.revivedAt {
            facts.add("revived", "\(self.times.longText(revivedAt)); what was killed stays dead")
        } else if !Self.isNotStored(kill) {
            facts.add("lifted by", "martlet revive \(kill.scope.option) --reason TEXT; what was killed stays dead")
        }
        if kill.wasKilled == true { facts.add("before", "it was killed already; this kill stands beside that one") }
        if let store = Self.store(kill) { facts.add("store", store) }
        if kill.isOfLockedGateway { facts.add("now", Self.substitutes(kill)) }
        for replica in kill.replicas where replica.state != "acknowledged" {
            let until = replica.until.map { ", at the latest \(self.times.text($0))" } ?? ""
            facts.add("replica", "\(replica.name): \(replica.state)\(until)")
        }
        facts.add("tokens", Self.isAway(kill) ? "unknown without the store" : Self.tokens(kill.tokens))
        if !Self.isAway(kill) {
            if let estimate = self.estimate(kill.tokens) { facts.add("left", estimate) }
            if let nextTryAt = kill.tokens.nextTryAt { facts.add("next try", self.times.longText(nextTryAt)) }
            if let outlook = Self.outlook(kill.tokens) { facts.add("next", outlook) }
        }
        if kill.draining > 0 {
            let isOne = kill.draining == 1
            let requests = isOne ? "1 request was" : "\(kill.draining) requests were"
            facts.add("drained", "\(requests) let end, whose \(isOne ? "head" : "heads") had left")
        }
        return facts.lines
    }

    private func state(_ kill: KillReply) -> String {
        guard kill.isComplete else {
            if kill.isOfLockedGateway {
                return "pending: this gateway is locked; it keeps the kill and carries it out when it is unlocked"
            }
            if Self.isNotStored(kill) {
                return "pending: the store has not taken it; the replica that was asked has stopped"
            }
            return Self.isAway(kill)
                ? "pending, as far as is known without the store" : "pending: not every replica has stopped yet"
        }
        let time = kill.completedAt.map { ", \(self.times.longText($0))" } ?? ""
        return "complete: no replica sends any of these tokens any more\(time)"
    }

    /// Whether the kill's report could not be read from the store.
    private static func isAway(_ kill: KillReply) -> Bool { kill.store.map { $0 != "reachable" } ?? false }

    /// Whether the store has not accepted the kill.
    private static func isNotStored(_ kill: KillReply) -> Bool { self.isAway(kill) && kill.epoch == nil }

    /// When other replicas stop, if the store has not accepted the kill.
    private static func store(_ kill: KillReply) -> String? {
        guard self.isAway(kill), !kill.isOfLockedGateway else { return nil }
        guard self.isNotStored(kill) else {
            return "unreachable: what became of the tokens is told when it can be read"
        }
        return kill.store == "unwritable"
            ? "unwritable: other replicas go on while they can read it; kill at each of them, or stop them"
            : "unreachable: another replica stops when its lease ends, if it can't reach the store either"
    }

    /// What carries out the kill before a locked gateway is unlocked.
    private static func substitutes(_ kill: KillReply) -> String {
        let names = kill.canDoItNow ?? []
        return names.isEmpty
            ? "no other replica was listed when it was locked: martlet unlock"
            : "\(names.joined(separator: ", ")) may use these tokens: give the kill to one of them, with --admin"
    }

    /// Why the command that ordered the kill fails.
    package static func obstacle(_ kill: KillReply) -> String {
        if kill.isOfLockedGateway {
            let names = kill.canDoItNow ?? []
            let others = names.isEmpty ? "" : ", and \(names.joined(separator: ", ")) may still send these tokens"
            return "the kill is not complete: this gateway is locked and keeps it until martlet unlock\(others)"
        }
        return self.isNotStored(kill)
            ? "the kill is not complete: the store has not taken it yet (\(kill.store ?? "")); the gateway keeps it and tries until "
                + "it stands; martlet kills shows how it goes on"
            : "the kill is not complete: a replica named above may still send these tokens; martlet kills shows how it goes on"
    }

    /// The tokens of a page, one a line.
    package func lines(_ page: KilledTokensReply) -> [String] {
        page.tokens.map { token in
            let end = token.endsAt.map { ", ends \(self.times.text($0))" } ?? ""
            return "\(token.account): \(token.kind) token \(token.outcome)\(end)"
        }
    }

    /// Such as `about 33 min at 50 a second, until 2026-11-19T08:30:00.250Z`.
    private func estimate(_ tokens: KillReply.Tokens) -> String? {
        guard let end = tokens.estimatedEnd, !self.times.isOver(end) else { return nil }
        let speed = tokens.perSecond.map { " at \($0) a second" } ?? ""
        return "about \(self.times.text(end).trimmingPrefix("in "))\(speed), until \(end)"
    }

    private static func tokens(_ tokens: KillReply.Tokens) -> String {
        guard tokens.isCounted != false else { return "not counted yet; martlet kills counts them" }
        let more = tokens.isCollected == false ? "the accounts are still looked through" : nil
        guard tokens.total > 0 else { return more.map { "none yet: \($0)" } ?? "none" }
        let counts = [
            ("revoked", tokens.revoked), ("waiting to be revoked", tokens.waiting),
            ("in a refresh under way", tokens.inFlight), ("refused by the provider", tokens.refused),
            ("not revoked, as the provider refuses the client", tokens.clientRefused ?? 0),
            ("with no way to revoke them", tokens.unsupported),
            ("provider unreachable", tokens.unreachable - (tokens.givenUp ?? 0)),
            ("given up with the provider unreachable", tokens.givenUp ?? 0),
        ]
        let texts = counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
        return texts + (more.map { "; \($0)" } ?? "")
    }

    /// What happens next to tokens that were not revoked, in one line; `nil` if there are none.
    private static func outlook(_ tokens: KillReply.Tokens) -> String? {
        var parts = self.outlookOfUnreached(tokens)
        if tokens.unsupported > 0 {
            let some = tokens.unsupported == 1 ? "1 token" : "\(tokens.unsupported) tokens"
            // Some of these tokens may have expired by now.
            parts.append(
                "\(some) could not be revoked, since nothing at the provider revokes; what has not expired works "
                    + "there until it does"
            )
        }
        if let count = tokens.clientRefused, count > 0 {
            parts.append(
                "check client_id, client_secret and client_auth of the provider that refuses the client: it is asked "
                    + "again for 24 hours after the kill"
            )
        }
        if tokens.refused > 0 { parts.append("end the grants of those refused at the provider itself") }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    /// What happens next to tokens whose provider could not be reached: it is asked again, or no longer.
    private static func outlookOfUnreached(_ tokens: KillReply.Tokens) -> [String] {
        guard tokens.unreachable > 0 else { return [] }
        guard let givenUp = tokens.givenUp else {
            return [
                "an unreachable provider is asked again for 24 hours after the kill; a token that is not revoked by "
                    + "then lives on until it ends: end its grant at the provider itself"
            ]
        }
        var parts: [String] = []
        if tokens.unreachable > givenUp {
            parts.append(
                "the gateway asks an unreachable provider again, for at least 24 hours "
                    + "(martlet kills shows how that goes)"
            )
        }
        if givenUp > 0 {
            let some = givenUp == 1 ? "1 token was" : "\(givenUp) tokens were"
            parts.append(
                "\(some) not revoked, and an unreachable provider is not asked about that any more: end the grant "
                    + "at the provider itself"
            )
        }
        return parts
    }
}
