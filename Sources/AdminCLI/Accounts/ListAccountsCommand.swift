internal import ArgumentParser
internal import FoundationEssentials
internal import TextCoding

/// `martlet accounts list`.
struct ListAccountsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List accounts and the state of their tokens.",
        discussion: """
            Accounts come in pages of 1,000; with --json each page is one line.

            Example:
              martlet accounts list
              martlet accounts list --prefix customer- --state killed --state expired
              martlet accounts list --json | jq -r '.accounts[].name'
            """
    )

    @OptionGroup var filter: AccountFilterOptions
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let client = try await self.admin.client()
        var list = AccountList(times: RelativeTime(now: .now))
        var isEmpty = true
        let hasMore = try await client.list(self.filter) { reply, accounts in
            isEmpty = isEmpty && accounts.isEmpty
            if self.admin.isJSON { return [reply.text] }
            return accounts.isEmpty ? [] : list.take(accounts)
        }
        guard !self.admin.isJSON else { return }
        for line in list.hint { Console.say(line) }
        if isEmpty {
            Console.say(
                self.filter.isEmpty
                    ? "no accounts; the configuration names them under accounts" : "no account is like that"
            )
        }
        if hasMore { Console.mention("there are more accounts than --limit lets through") }
    }
}

/// `martlet accounts export`.
struct ExportAccountsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the name, provider and state of each account, one JSON object a line.",
        discussion: """
            Tokens are never written. Times are in RFC 3339 format.

            Example:
              martlet accounts export > names.jsonl
              martlet accounts export --state reauthorization_required | jq -r .account
            """
    )

    @OptionGroup var filter: AccountFilterOptions
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let client = try await self.admin.client()
        _ = try await client.list(self.filter) { _, accounts in try accounts.map { try $0.exportLine } }
    }
}

/// The options that select accounts.
struct AccountFilterOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only accounts whose names begin like this.", valueName: "text")) var prefix: String?
    @Option(help: ArgumentHelp("Only accounts of this provider.", valueName: "name")) var provider: String?

    @Option(
        name: .customLong("state"),
        help: ArgumentHelp("Only accounts in this state; may be given several times.", valueName: "state")
    )
    var states: [String] = []

    @Option(help: ArgumentHelp("At most this many accounts.", valueName: "number")) var limit: Int?

    /// Whether all accounts are asked for.
    var isEmpty: Bool { self.query == AccountQuery() }

    var query: AccountQuery { AccountQuery(prefix: self.prefix, provider: self.provider, states: self.states) }

    func validate() throws {
        guard self.limit.map({ $0 > 0 }) ?? true else { throw ValidationError("--limit takes a number from 1 on") }
    }
}

extension AdminClient {
    /// Writes what `lines` makes of each page to standard output, page by page, so that memory does not grow with the
    /// number of accounts. Ends early if nobody reads on.
    ///
    /// - Returns: whether the gateway has more accounts than the filter's limit.
    fileprivate func list(
        _ filter: AccountFilterOptions,
        _ lines: (_ reply: AdminReply, _ accounts: [AccountReply]) throws -> [String]
    ) async throws -> Bool {
        var paging = AccountPaging(filter.query, limit: filter.limit)
        while let request = paging.request {
            let reply = try await self.send(request)
            let text = try lines(reply, paging.take(reply.read())).map { $0 + "\n" }.joined()
            guard try Console.show(text) else { break }
        }
        return paging.hasMore
    }
}

extension AccountReply {
    /// The account as a line of an export: what tells accounts apart, and nothing that opens anything.
    package var exportLine: String {
        get throws {
            let line = Exported(
                account: self.name,
                provider: self.provider,
                state: self.state,
                expiresAt: self.expiresAt
            )
            return String(decoding: try JSONText.encode(line), as: UTF8.self)
        }
    }

    private struct Exported: Encodable {
        let account: String
        let provider: String
        let state: String
        let expiresAt: String?

        private enum CodingKeys: String, CodingKey {
            case account, provider, state
            case expiresAt = "expires_at"
        }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(self.account, forKey: .account)
            try members.encode(self.provider, forKey: .provider)
            try members.encode(self.state, forKey: .state)
            // Present even without a value, so that each line has the same members.
            try members.encode(self.expiresAt, forKey: .expiresAt)
        }
    }
}
