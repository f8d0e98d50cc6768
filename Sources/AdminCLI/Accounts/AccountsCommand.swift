internal import ArgumentParser
internal import FoundationEssentials
internal import TextCoding

/// `martlet accounts`.
struct AccountsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts",
        abstract: "Show accounts, and import, refresh, adopt or remove their tokens.",
        discussion: """
            An account is one authorization at a provider. The configuration names it, or a family that its name belongs to; its
            tokens arrive by import or sign-in.

            Example:
              martlet accounts list
            """,
        subcommands: [
            ListAccountsCommand.self, ShowAccountCommand.self, ExportAccountsCommand.self, ImportTokensCommand.self,
            RefreshAccountCommand.self, RemoveTokensCommand.self, AdoptTokensCommand.self,
        ]
    )
}

/// `martlet accounts adopt`.
struct AdoptTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Say that an account's tokens belong to its provider as it is configured now.",
        discussion: """
            A record remembers the provider, token endpoint and client id that its tokens were made for. Where the \
            configuration says otherwise nothing is sent, since a refresh token would go to somebody who did not issue \
            it. Adopt the tokens when it is the same provider and client under another name or address; else import \
            new ones. Exits with 1 when the account needs new tokens all the same.

            Example:
              martlet accounts adopt alice
            """
    )

    @Argument(help: "The account's name in the configuration.") var name: String
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let reply = try await self.admin.client().send(.adopt(self.name))
        let account = try reply.read(AccountReply.self)
        if self.admin.isJSON {
            Console.say(reply.text)
        } else {
            for line in AccountText(times: RelativeTime(now: .now)).details(account) { Console.say(line) }
        }
        if let failure = account.failureAfterAdoption { throw failure }
    }
}

/// `martlet accounts refresh`.
struct RefreshAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Refresh an account's access token now, even a valid one.",
        discussion: """
            Exits with 1 when that brings no new token, also where the old one is still valid: it says which.

            Example:
              martlet accounts refresh alice
            """
    )

    @Argument(help: "The account's name in the configuration.") var name: String
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let client = try await self.admin.client()
        let reply = try await client.send(.refresh(self.name))
        let account = try reply.read(AccountReply.self)
        // The lookup of kills serves only the text output, so the JSON is printed before it.
        if self.admin.isJSON { Console.say(reply.text) }
        let kills = await client.kills(of: account)
        let times = RelativeTime(now: .now)
        if !self.admin.isJSON {
            for line in AccountText(times: times).details(account, kills: kills) { Console.say(line) }
        }
        if let failure = account.failureAfterRefresh(times, kills: kills) { throw failure }
    }
}

/// `martlet accounts remove`.
struct RemoveTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Revoke an account's tokens at the provider and forget them.",
        discussion: """
            The tokens are removed whatever the provider does; exits with 1 when it was asked and did not revoke one, or when \
            the configuration does not have it any more. Who is asked is the provider that they were made by. Where it can't be \
            reached, or is not configured, the gateway keeps the tokens sealed for a day, to revoke them when it is back. This \
            is no kill: other tokens may be imported at once, and nothing has to be revived. Those that were removed stay dead.

            Example:
              martlet accounts remove alice
            """
    )

    @Argument(help: "The account's name, also of one that is not configured any more.") var name: String
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let reply = try await self.admin.client().send(.removeTokens(of: self.name))
        let removal = try reply.read(RemovalReply.self)
        if self.admin.isJSON {
            Console.say(reply.text)
        } else if removal.tokens.isEmpty {
            Console.say("account \(PlainText.line(removal.account.name)) had no tokens")
        } else {
            for line in AccountText(times: RelativeTime(now: .now)).table(removal.tokens) { Console.say(line) }
        }
        if let failure = removal.failure { throw failure }
    }
}

/// `martlet accounts show`.
struct ShowAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one account.",
        discussion: """
            Tokens that were removed or killed and that the provider has not revoked yet are among what is shown.

            Example:
              martlet accounts show alice
            """
    )

    @Argument(help: "The account's name in the configuration.") var name: String
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let client = try await self.admin.client()
        let reply: AdminReply
        do {
            reply = try await client.send(.accountWithUnrevoked(self.name))
        } catch {
            // The store can't list the unrevoked tokens, or an older gateway doesn't know the query parameter.
            reply = try await client.send(.account(self.name))
        }
        if self.admin.isJSON { return Console.say(reply.text) }
        let account = try reply.read(AccountReply.self)
        let kills = await client.kills(of: account)
        for line in AccountText(times: RelativeTime(now: .now)).details(account, kills: kills) { Console.say(line) }
        if account.unrevoked == nil {
            Console.mention(
                "whether tokens of it are still to be revoked is unknown: the gateway or its store does not say"
            )
        }
    }
}

extension AdminClient {
    /// All kills that cover the account. Each must be revived before the account can have tokens again. Empty if the
    /// account is not killed, or if the gateway doesn't report kills, as older versions don't.
    func kills(of account: AccountReply) async -> [ScopeReply] {
        guard account.state == "killed", let reply = try? await self.send(.status.within(.seconds(5))),
            let killed = try? reply.read(StatusReply.self).killed
        else { return [] }
        return killed.filter { $0.holds(account) }
    }
}

extension ScopeReply {
    /// Whether the scope covers an account.
    package func holds(_ account: AccountReply) -> Bool {
        self.all == true || self.provider == account.provider || self.account == account.name
    }
}
