extension AccountReply {
    /// Whether its first access token is still to be fetched: nothing has ended, and the first use fetches one. The admin
    /// API has one word for this and for a token that has ended.
    package var isUnfetched: Bool { self.state == "expired" && self.expiresAt == nil }

    /// The state as people read it.
    package var stateText: String { self.isUnfetched ? Self.unfetched : self.state }

    /// The state and what stands beside it, such as `valid, token refused`.
    package func troubledStateText(_ times: RelativeTime) -> String {
        var parts = [self.stateText]
        // Either word says that refreshes fail, and leaves open whether callers are served meanwhile.
        let isFailing = self.state == "backing_off" || self.state == "reauthorization_required"
        if isFailing, self.trouble?.kind != "token_refused", self.hasValidToken(times) { parts.append("token valid") }
        if let trouble, trouble.kind != "refresh_failing" || !isFailing { parts.append(trouble.words) }
        return parts.joined(separator: ", ")
    }

    /// Whether requests get the access token that there is, whatever else the state says.
    package func hasValidToken(_ times: RelativeTime) -> Bool {
        guard self.configured else { return false }
        return switch self.state {
        case "valid": true
        // Such a token is another client's.
        case "reauthorization_required" where self.lastError == "bound_elsewhere": false
        case "backing_off", "refreshing", "reauthorization_required":
            self.expiresAt.map { !times.isOver($0) } ?? false
        default: false
        }
    }

    /// Whether somebody should look at it: something is wrong beside the state, or the state is one that nothing but an
    /// operator ends. One that waits for its first tokens is none of these.
    package var isInTrouble: Bool {
        guard self.trouble == nil else { return true }
        return self.configured && (self.state == "reauthorization_required" || self.state == "unreadable")
    }

    /// What ``stateText`` calls an account without its first access token.
    package static let unfetched = "not fetched yet"
}

extension AccountReply.Issue {
    /// What is wrong in two words.
    package var words: String { String(self.kind.map { $0 == "_" ? " " : $0 }) }

    /// What is wrong as people say it.
    package var text: String {
        switch self.kind {
        case "token_refused":
            "an API answered 401 to the access token, and no other is to be had (\(self.reason))"
        case "client_refused":
            "the provider refuses the client, or what it asks for (\(self.reason)): "
                + "there is no next access token until it does not"
        case "refresh_failing":
            "refreshes bring no tokens (\(self.reason)), so there is no next access token"
        default: "\(self.words) (\(self.reason))"
        }
    }
}
