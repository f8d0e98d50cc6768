internal import FoundationEssentials
internal import TextCoding

/// A gateway's status as text for people.
package struct StatusText: Sendable {
    private let times: RelativeTime

    package init(times: RelativeTime) {
        self.times = times
    }

    /// The process, then its providers, families and accounts.
    package func lines(_ status: StatusReply) -> [String] {
        var facts = FactList()
        let word = status.stopping == true ? "stopping" : status.lock?.state
        let state = status.ready ? "ready" : (["not ready"] + [word].compactMap { $0 }).joined(separator: ", ")
        facts.add("martlet", "\(status.version), \(state)")
        facts.add("replica", "\(status.replica.name), started \(self.times.text(status.replica.startedAt))")
        if let lock = status.lock { LockText(times: self.times).add(lock, to: &facts, as: "lock") }
        for text in Self.store(status.store, isLocked: status.lock != nil) { facts.add("store", text) }
        let listeners = status.listeners.map { $0.bound ? $0.address : "\($0.address) (not bound)" }
        facts.add("listeners", listeners.isEmpty ? "-" : listeners.joined(separator: ", "))
        for text in self.configuration(status.configuration) { facts.add("configuration", text) }
        if let killed = status.killed, !killed.isEmpty {
            facts.add("killed", killed.map(\.text).joined(separator: ", "))
        }
        if let waiting = status.waitingKills, !waiting.isEmpty {
            let scopes = waiting.map(\.text).joined(separator: ", ")
            facts.add("waiting", "the store has not taken the kill of \(scopes): it holds in this replica alone")
        }
        // A locked gateway knows of no account.
        guard status.lock == nil || !status.accounts.isEmpty || status.families != nil else { return facts.lines }
        return facts.lines + self.providers(status) + Self.families(status.families ?? []) + self.accounts(status)
            + LockText(times: self.times).lines(status.approvals ?? [])
    }

    /// Whether it is open, what its server would lose at a failover, and how far the clocks differ.
    private static func store(_ store: StatusReply.Store, isLocked: Bool) -> [String] {
        var texts = ["\(store.driver), \(store.open ? "open" : isLocked ? "closed" : "out of reach")"]
        if let isReplicated = store.replicated {
            texts.append(Self.failover(store, isReplicated))
        }
        if let offset = store.clockOffset, abs(offset) > 1_000 {
            let relation = offset > 0 ? "behind" : "ahead of"
            texts.append("this host's clock is \(abs(offset)) ms \(relation) the store's, which counts")
        }
        if let move = store.move {
            texts.append(Self.move(move))
        }
        for mirror in store.mirrors ?? [] {
            let complete = mirror.completeAt.map { ", complete at \($0)" } ?? ""
            texts.append("mirror \(mirror.name): \(mirror.state.replacing("_", with: " "))\(complete)")
        }
        return texts
    }

    /// What a failover of the store's server loses.
    private static func failover(_ store: StatusReply.Store, _ isReplicated: Bool) -> String {
        let connected = store.standbys.map { " (\($0) connected)" } ?? ""
        switch (isReplicated, store.lossless == true) {
        case (false, _):
            return "no standby or replica confirms writes: a failover may lose the last ones"
        case (true, _) where store.standbys == 0:
            return "writes wait for a synchronous standby, and none is connected"
        case (true, true):
            return "each write waits for a synchronous standby\(connected): a failover to it loses nothing"
        case (true, false):
            return "each write waits for a replica\(connected): a failover to another one may lose the last writes"
        }
    }

    private static func move(_ move: StatusReply.Store.Move) -> String {
        switch move.state {
        case "waiting": "the move begins when all replicas are configured for it; martlet replicas list shows them"
        case "leaving": "the replicas go over to the store that the records are moved to"
        case "done": "the move is done: take previous out of the configuration"
        default: "moving, \(move.moved) records moved by this replica"
        }
    }

    /// The parts of its configuration file that the gateway doesn't follow.
    private func configuration(_ configuration: StatusReply.Configuration?) -> [String] {
        var texts: [String] = []
        if let failure = configuration?.reloadFailed {
            let others = failure.faults > 1 ? " (and \(failure.faults - 1) more, which are in the log)" : ""
            texts.append("reload failed \(self.times.text(failure.at)), nothing has changed: \(failure.fault)\(others)")
        }
        if let parts = configuration?.needsRestart, !parts.isEmpty {
            texts.append("restart needed for what was changed in \(parts.joined(separator: ", "))")
        }
        return texts
    }

    private func providers(_ status: StatusReply) -> [String] {
        guard !status.providers.isEmpty else { return [] }
        var table = TextTable("PROVIDER", "ACCOUNTS", "STATES")
        for provider in status.providers {
            let states = Self.text(of: Self.states(provider, status.accounts))
            let troubled = status.accounts.count { $0.provider == provider.name && $0.isInTrouble }
            table.add([
                provider.name,
                provider.accounts.values.reduce(0, +).grouped,
                states + (troubled > 0 ? "; \(troubled) in trouble" : ""),
            ])
        }
        return [""] + table.lines + self.held(status.providers)
    }

    /// Providers that get no requests except a probe, so that the states of their accounts may be out of date; and
    /// providers without a revocation endpoint.
    private func held(_ providers: [StatusReply.Provider]) -> [String] {
        let lines = providers.compactMap { provider -> String? in
            let trouble: String
            switch provider.state {
            case "refuses_client"?: trouble = "refuses the client; check client_id, client_secret and client_auth"
            case "not_provider"?:
                trouble =
                    "is not reached: something else responds at its token endpoint; check token_endpoint and what stands before it"
            case "failing"?: trouble = "fails; requests to it pause for a while"
            default: return nil
            }
            let next = provider.retryAt.map { ", asked again \(self.nextTry($0))" } ?? ", being asked again now"
            return "\(PlainText.line(provider.name)) \(trouble)\(next)"
        }
        let silent = providers.filter { $0.revokes == false }.map { provider in
            let name = PlainText.line(provider.name)
            return "\(name) names no revocation endpoint: a kill or a removal revokes nothing there; "
                + "providers.\(name).revocation_endpoint names one"
        }
        return lines.isEmpty && silent.isEmpty ? [] : [""] + lines + silent
    }

    /// The gateway asks a provider only if a token is needed, so the time of the next try may be long past.
    private func nextTry(_ moment: String) -> String {
        self.times.isOver(moment)
            ? "with the next refresh, such as martlet accounts refresh makes at once" : self.times.text(moment)
    }

    /// The number of accounts in each state, with the state names of ``AccountText``.
    private static func states(
        _ provider: StatusReply.Provider,
        _ accounts: [AccountReply]
    ) -> [String: Int] {
        var states = provider.accounts
        for account in accounts where account.provider == provider.name && account.isUnfetched {
            states[account.state, default: 1] -= 1
            states[account.stateText, default: 0] += 1
        }
        return states
    }

    /// The states that any account has, each with its count.
    private static func text(of states: [String: Int]) -> String {
        states.filter { $0.value > 0 }.sorted { $0.key < $1.key }
            .map { "\($0.value.grouped) \($0.key)" }.joined(separator: ", ")
    }

    private static func families(_ families: [StatusReply.Family]) -> [String] {
        guard !families.isEmpty else { return [] }
        var table = TextTable("FAMILY", "PROVIDER", "ACCOUNTS", "STATES")
        for family in families {
            let accounts = "\(family.accounts.grouped) of \(family.max.grouped)"
            table.add([family.family, family.provider, accounts, Self.text(of: family.states)])
        }
        return [""] + table.lines
    }

    private func accounts(_ status: StatusReply) -> [String] {
        guard status.accounts.isEmpty else { return [""] + AccountText(times: self.times).table(status.accounts) }
        return status.families == nil ? ["", "no accounts"] : []
    }
}

extension AccountReply {
    /// Whether the first access token is still to be fetched: no token has expired, and the first use fetches one. The
    /// admin API uses the same word for this state and for an expired token.
    package var isUnfetched: Bool { self.state == "expired" && self.expiresAt == nil }

    /// The state's name for people.
    package var stateText: String { self.isUnfetched ? Self.unfetched : self.state }

    /// The state and the trouble beside it, such as `valid, token refused`.
    package func troubledStateText(_ times: RelativeTime) -> String {
        var parts = [self.stateText]
        // Both states mean that refreshes fail. They don't tell whether callers still get a valid token.
        let isFailing = self.state == "backing_off" || self.state == "reauthorization_required"
        if isFailing, self.trouble?.kind != "token_refused", self.hasValidToken(times) { parts.append("token valid") }
        if let trouble, trouble.kind != "refresh_failing" || !isFailing { parts.append(trouble.words) }
        return parts.joined(separator: ", ")
    }

    /// Whether requests get the existing access token, whatever else the state says.
    package func hasValidToken(_ times: RelativeTime) -> Bool {
        guard self.configured else { return false }
        return switch self.state {
        case "valid": true
        // This token belongs to another client.
        case "reauthorization_required" where self.lastError == "bound_elsewhere": false
        case "backing_off", "refreshing", "reauthorization_required":
            self.expiresAt.map { !times.isOver($0) } ?? false
        default: false
        }
    }

    /// Whether the account needs attention: there is trouble beside the state, or only an operator can end the state.
    /// An account that waits for its first tokens needs none.
    package var isInTrouble: Bool {
        guard self.trouble == nil else { return true }
        return self.configured && (self.state == "reauthorization_required" || self.state == "unreadable")
    }

    /// The ``stateText`` of an account without its first access token.
    package static let unfetched = "not fetched yet"
}

extension AccountReply.Issue {
    /// The trouble in two words.
    package var words: String { String(self.kind.map { $0 == "_" ? " " : $0 }) }

    /// The trouble as a sentence for people.
    package var text: String {
        switch self.kind {
        case "token_refused":
            "an API responded 401 to the access token, and no other token is available (\(self.reason))"
        case "client_refused":
            "the provider refuses the client, or what it asks for (\(self.reason)): "
                + "there is no next access token until it does not"
        case "refresh_failing":
            "refreshes bring no tokens (\(self.reason)), so there is no next access token"
        case "refresh_overdue":
            "its refresh token was not used for longer than the provider keeps it, as while the gateway was locked or stopped "
                + "(\(self.reason)): the gateway tries it within ten minutes"
        default: "\(self.words) (\(self.reason))"
        }
    }
}
