extension AccountReply {
    /// What it comes to that the account is as it is after a refresh; `nil` for a valid one.
    package var failureAfterRefresh: CommandFailure? {
        guard self.state != "valid" else { return nil }
        let reason = self.lastError.map { " (\($0))" } ?? ""
        let help =
            switch self.state {
            case "reauthorization_required" where self.lastError == "bound_elsewhere":
                "its tokens were made for another provider, token endpoint or client; martlet accounts adopt "
                    + "\(self.name) if they belong to the configured one, else import new ones"
            case "empty", "reauthorization_required": "import new tokens with martlet accounts import \(self.name)"
            case "unreadable": "the store's record does not open with its key; see the gateway's log"
            case "refreshing": "it is still under way; martlet accounts show \(self.name) tells how it ended"
            default: "see the gateway's log, and try again later"
            }
        return CommandFailure(.no, "account \(self.name) is not valid: \(self.state)\(reason); \(help)")
    }
}

extension AccountReply {
    /// What it comes to that the account is as it is after an adoption; `nil` where its tokens can be used or refreshed.
    package var failureAfterAdoption: CommandFailure? {
        switch self.state {
        case "empty", "reauthorization_required", "unreadable": self.failureAfterRefresh
        default: nil
        }
    }
}

extension RemovalReply {
    /// What it comes to that the provider did not revoke what it was asked to; `nil` where all went well.
    package var failure: CommandFailure? {
        let alive = self.tokens.filter(\.mayLiveOn)
        guard !alive.isEmpty else { return nil }
        let tokens = alive.map { "\($0.kind) token \($0.outcome)" }.joined(separator: ", ")
        return CommandFailure(
            .no,
            "the tokens of \(self.account.name) are forgotten, but not all revoked (\(tokens)): end the grant at the "
                + "provider itself"
        )
    }
}
