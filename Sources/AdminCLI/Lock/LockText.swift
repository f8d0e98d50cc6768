internal import TextCoding

/// The gateway's lock as text for people.
package struct LockText: Sendable {
    private let times: RelativeTime

    package init(times: RelativeTime) {
        self.times = times
    }

    package func lines(_ lock: LockReply) -> [String] {
        var facts = FactList()
        self.add(lock, to: &facts)
        return facts.lines
    }

    /// Adds the state under `name`, then why it is so, and what is left to do.
    func add(_ lock: LockReply, to facts: inout FactList, as name: String = "state") {
        facts.add(name, Self.state(lock))
        if let reason = lock.reason { facts.add("reason", reason) }
        if let since = lock.since {
            facts.add("since", self.times.longText(since) + (lock.by.map { ", by \($0)" } ?? ""))
        }
        if lock.isForAllReplicas { facts.add("for", "all replicas of the store") }
        if !lock.isKept, lock.state != "open" {
            facts.add("kept", "no: state_dir could not be written, so a restart may open it")
        }
        if !lock.openAccounts.isEmpty {
            facts.add("waiting", "\(Self.names(lock.openAccounts)): their token requests are still open")
        }
        if !lock.lostAccounts.isEmpty {
            facts.add(
                "lost",
                "\(Self.names(lock.lostAccounts)): token requests were given up, so new tokens may be lost; where a refresh fails "
                    + "after the unlock, martlet login"
            )
        }
        for replica in lock.replicas where replica.state != "acknowledged" {
            let until = replica.until.map { ", at the latest \(self.times.text($0))" } ?? ""
            facts.add("replica", "\(replica.name): \(replica.state)\(until)")
        }
        if let waitsFor = lock.waitsFor { facts.add("waits for", waitsFor) }
        if let help = Self.help(lock) { facts.add("opened by", help) }
    }

    private static func state(_ lock: LockReply) -> String {
        switch lock.state {
        case "open": "open: callers are served"
        case "unlocking": "unlocking: the gateway gets its keys and opens the store"
        case "locking":
            "locking: no request gets a token any more, and the keys go when the last token request has ended"
        case "locked": "locked: this process holds no key and no token"
        default: lock.state
        }
    }

    private static func help(_ lock: LockReply) -> String? {
        switch lock.needs {
        case "passphrase": "martlet unlock, which asks for the passphrase"
        case "new_passphrase": "martlet unlock, which asks for a new passphrase: the store has none yet"
        case "key": "martlet unlock --key-file FILE"
        case "nothing": "martlet unlock"
        default: nil
        }
    }

    /// Why the command that ordered the lock fails.
    package static func obstacle(_ lock: LockReply) -> String {
        var parts: [String] = []
        if !lock.openAccounts.isEmpty {
            parts.append("token requests of \(Self.names(lock.openAccounts)) are still open")
        }
        let pending = lock.replicas.filter { $0.state == "pending" }.map(\.name)
        if !pending.isEmpty { parts.append("\(Self.names(pending)) may still use tokens") }
        if parts.isEmpty { parts.append("the gateway is \(lock.state)") }
        return "the lock is not complete: \(parts.joined(separator: ", and ")); martlet status shows how it goes on"
    }

    private static func names(_ names: [String]) -> String {
        names.map { PlainText.line($0) }.joined(separator: ", ")
    }

    /// What an approval has done.
    package func line(_ approval: ApprovalReply) -> String {
        let until = approval.until.map { self.times.longText($0) } ?? "a time that is not known"
        return "\(PlainText.line(approval.account)) may be used until \(until)"
    }

    /// The accounts that are used only after an approval, one line for each.
    package func lines(_ approvals: [ApprovalReply]) -> [String] {
        guard !approvals.isEmpty else { return [] }
        var table = TextTable("NEEDS APPROVAL", "APPROVED UNTIL", "")
        for approval in approvals {
            let isAwaited = approval.waiting == true && approval.until == nil
            let help = isAwaited ? "requests wait: martlet approve \(ShellWord.quoted(approval.account))" : ""
            table.add([approval.account, approval.until.map { self.times.longText($0) } ?? "-", help])
        }
        return [""] + table.lines
    }
}
