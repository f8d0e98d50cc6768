internal import TextCoding

extension AccountReply {
    /// The command's failure for the account's state after a refresh; `nil` if the refresh brought a valid token.
    ///
    /// - Parameter kills: as for ``remedy(kills:)``.
    package func failureAfterRefresh(_ times: RelativeTime, kills: [ScopeReply] = []) -> CommandFailure? {
        guard self.state != "valid" || self.lastError != nil else { return nil }
        guard self.hasValidToken(times) else { return self.failure(kills) }
        let ends = self.expiresAt.map { " (it ends \(times.text($0)))" } ?? ""
        // An unexpired token is useless if the upstream refuses it.
        let isRefused = self.trouble?.kind == "token_refused"
        let token = "its old token \(isRefused ? "has not ended, but an upstream refuses it" : "is still valid")\(ends)"
        guard self.state != "refreshing" else {
            return CommandFailure(
                .no,
                "account \(self.name) is not refreshed yet, and \(token); \(self.outlook(kills))"
            )
        }
        let reason = self.lastError ?? self.trouble?.reason ?? self.state
        return CommandFailure(
            .no,
            "account \(self.name) was not refreshed (\(reason)), and \(token); \(self.outlook(kills))"
        )
    }

    /// The failure that says that the account is not valid.
    private func failure(_ kills: [ScopeReply]) -> CommandFailure {
        let reason = self.lastError.flatMap { $0 == self.state ? nil : " (\($0))" } ?? ""
        return CommandFailure(.no, "account \(self.name) is not valid: \(self.state)\(reason); \(self.outlook(kills))")
    }

    /// Advice for a refresh that brought no token, or has not finished.
    private func outlook(_ kills: [ScopeReply]) -> String {
        switch self.state {
        case "refreshing": "it is still under way; martlet accounts show \(self.name) tells how it ended"
        // The error of this refresh comes before other known trouble.
        case "valid", "backing_off": self.lastError.map { self.help($0) } ?? self.remedy(kills: kills) ?? self.help("")
        default: self.remedy(kills: kills) ?? self.help(self.lastError ?? "")
        }
    }

    /// What helps an account that is not usable, or will stop being so; `nil` if nothing is known to be wrong.
    ///
    /// - Parameter kills: all kills that cover the account; empty if they are not known.
    package func remedy(kills: [ScopeReply] = []) -> String? {
        switch self.state {
        case "killed":
            "\(self.lifting(kills)); what was killed stays dead: \(self.configuring)sign in with \(self.login) or "
                + "import new tokens\(self.configured ? " then" : "") (minted ones come by themselves)"
        case "reauthorization_required" where self.lastError == "bound_elsewhere":
            "its tokens were made for another provider, token endpoint or client; martlet accounts adopt "
                + "\(self.name) if they belong to the configured one; else sign in with \(self.login), or import new ones"
        case "empty" where self.lastError == "tokens_killed":
            "its tokens were killed and stay dead: \(self.configuring)\(self.renewal)"
        case "empty" where self.lastError == "tokens_removed":
            "its tokens were removed: \(self.configuring)\(self.renewal)"
        case "reauthorization_required" where self.lastError?.hasSuffix(".claim_broken") == true:
            "a process ended, or lost the store, while its refresh token was being spent, and the provider no longer accepts it: "
                + "\(self.configuring)\(self.renewal)"
        case "empty", "reauthorization_required":
            self.configuring + self.renewal
        case "unreadable": "the store's record does not open with its key; see the gateway's log"
        default: self.trouble.map { self.help($0.reason) }
        }
    }

    /// The command that lifts a kill of the account.
    private func lifting(_ kills: [ScopeReply]) -> String {
        guard let revival = Self.revival(of: kills) else {
            return "martlet kills shows what is killed, and why; martlet revive --account \(self.name) (or --provider "
                + "\(self.provider), or --all, whichever was killed) --reason TEXT lifts that"
        }
        return "martlet kills shows why it is killed; \(revival)"
    }

    /// The commands that lift the given kills; `nil` if there are none.
    package static func revival(of kills: [ScopeReply]) -> String? {
        guard !kills.isEmpty else { return nil }
        let commands = kills.map { "martlet revive \($0.option) --reason TEXT" }.joined(separator: " and ")
        return "\(commands) \(kills.count == 1 ? "lifts" : "lift") that"
    }

    /// The command to sign in with.
    private var login: String { "martlet login \(ShellWord.quoted(self.name))" }

    /// The two ways to new tokens.
    private var renewal: String {
        "sign in with \(self.login), or import new tokens with martlet accounts import \(self.name)"
    }

    /// The step before an import or a sign-in: the gateway accepts no tokens for an account that has only a record.
    private var configuring: String {
        self.configured ? "" : "add accounts.\(self.name) to the configuration first, then "
    }

    /// What helps after a failed refresh.
    ///
    /// - Parameter reason: its part before the first dot says which part of the exchange failed
    ///   (`config.invalid_client`).
    private func help(_ reason: String) -> String {
        switch reason.prefix(while: { $0 != "." }) {
        case "config", "provider_config":
            "the provider refuses the client: check client_id, client_secret and client_auth of providers.\(self.provider)"
        case "account_config":
            "the provider refuses what is asked for: check scopes and grant of accounts.\(self.name), and what the client "
                + "of providers.\(self.provider) may ask for"
        case "not_sent" where reason.hasPrefix("not_sent.discovery_failed"):
            "the metadata of the issuer of providers.\(self.provider) can't be fetched or used, so nobody knows its token "
                + "endpoint: check issuer and the network, or name token_endpoint; the gateway's log says what failed where"
        case "not_sent":
            "the token endpoint of providers.\(self.provider) can't be reached: check its URL and the network; the "
                + "gateway's log names it"
        case "throttled": "the provider asks to wait: try again later"
        case "refresh_limit":
            "it was refreshed too often in a short time (5 times in 30 s, or more than once per half of its token's lifetime): "
                + "try again later"
        case "refresh_rate":
            "more refreshes are due than refresh_rate of providers.\(self.provider) lets through: try again later, or raise it"
        case "not_provider":
            "something else answers at the token endpoint of providers.\(self.provider), such as a proxy or a firewall: check "
                + "that URL and what stands before it; it is tried again by itself"
        case "refused":
            "the provider refuses and gives no reason that is known: \(self.renewal), or check client_id, client_secret and client_auth of providers.\(self.provider); it is asked "
                + "once an hour, and at once with martlet accounts refresh \(self.name)"
        case "provider_failing":
            "the provider fails whoever asks, and is asked again by itself; the gateway's log tells how it fails"
        case "store_lost": "the token store is out of reach: martlet status and the gateway's log tell more"
        case "no_refresh_token":
            self.configuring + self.renewal
        case "unused_too_long":
            "the gateway tries it within ten minutes, and at once with martlet accounts refresh \(self.name)"
        default: "see the gateway's log, and try again later"
        }
    }
}

extension AccountReply {
    /// The command's failure for the account's state after an adoption; `nil` if its tokens can be used or refreshed.
    package var failureAfterAdoption: CommandFailure? {
        switch self.state {
        case "empty", "reauthorization_required", "unreadable": self.failure([])
        default: nil
        }
    }
}

extension RemovalReply {
    /// The command's failure if the provider did not revoke a token, or is not configured; `nil` otherwise.
    package var failure: CommandFailure? {
        let alive = self.tokens.filter(\.mayStillBeValid)
        guard !alive.isEmpty else { return nil }
        let tokens = alive.map { "\($0.kind) token \($0.isWaiting ? "waiting" : $0.outcome)" }
            .joined(separator: ", ")
        let isGone = alive.contains(where: \.hasNoProvider)
        let isAskedAgain = alive.contains { $0.outcome == "unreachable" && !$0.hasNoProvider }
        let isClientRefused = alive.contains { $0.outcome == "client_refused" }
        let remedy =
            isGone
            ? "nobody was asked where the provider, or the client they were made for, is not configured any more: put it "
                + "back into the configuration within a day, and it is asked; "
            : ""
        let refusal =
            isClientRefused
            ? "the provider refuses the client: put client_id, client_secret and client_auth right within a day, and it is "
                + "asked again; "
            : ""
        let hope =
            remedy + refusal + (isAskedAgain ? "what is unreachable or waiting is asked for again for a day; " : "")
        return CommandFailure(
            .no,
            "the tokens of \(self.account.name) are removed, but not all revoked (\(tokens)): \(hope)to be sure, end "
                + "the grant at the provider itself"
        )
    }
}

extension RemovedTokenReply {
    /// The token was removed earlier, and the gateway asks its provider again by itself. A provider's own response may
    /// contain the same word, so the outcome is checked too.
    fileprivate var isWaiting: Bool { self.outcome == "unreachable" && self.reason == "waiting" }

    /// No provider is configured to revoke it. The outcome is checked for the same reason.
    var hasNoProvider: Bool { self.outcome == "unreachable" && self.reason == "not_configured" }
}
