internal import ArgumentParser
internal import FoundationEssentials

/// `martlet accounts import`.
struct ImportTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Hand an account its tokens, in place of whatever is there, or many accounts with --all.",
        discussion: """
            Reads the provider's token answer as JSON, or a refresh token alone, from standard input or a file. On a \
            terminal it asks, and what is typed is not shown. The provider is not called; the first use does that. What can be \
            told to be no token, such as a web page or the admin token, is refused before anything is sent; \
            the client's secret is refused by the gateway.

            With --all, each line of a file or of standard input names an account and has its tokens. Lines that are refused are \
            listed with the reason, the others are imported, and it exits with 1. If the connection breaks it exits with 69, \
            and may be run again: an account that has tokens is left as it is, unless --existing says otherwise. Even \
            --existing replace never puts back a token that was imported for the account before.

            Example:
              martlet accounts import alice < token-answer.json
              pass show acme/alice | martlet accounts import alice
              martlet accounts import --all accounts.jsonl
              echo '{"account": "customer-1", "tokens": {"refresh_token": "…"}}' | martlet accounts import --all
            """
    )

    @Argument(help: ArgumentHelp("The account's name; with --all, the file to read.", valueName: "name"))
    var name: String?

    /// Positional arguments that are probably tokens. They are parsed only to be refused without being repeated.
    @Argument(help: .hidden) var excess: [String] = []

    @Flag(name: .customLong("all"), help: "Import the tokens of many accounts, one JSON object a line.")
    var isForMany = false

    @Option(
        help: ArgumentHelp("With --all, what is done with an account that has tokens: skip, replace or fail.")
    )
    var existing: ExistingPolicy?

    @Option(help: ArgumentHelp("Read the tokens from here instead of standard input.", valueName: "file"))
    var file: String?

    @OptionGroup var admin: AdminOptions

    func validate() throws {
        guard !self.isForMany else {
            guard self.excess.isEmpty, self.name == nil || self.file == nil else {
                throw ValidationError(
                    "--all takes one file, whose lines name their accounts, such as: \(BulkImport.example)"
                )
            }
            return
        }
        guard self.existing == nil else { throw ValidationError("--existing goes with --all: \(BulkImport.example)") }
        guard self.name != nil else {
            throw ValidationError("name an account, or import many with --all, such as: \(BulkImport.example)")
        }
        guard self.excess.isEmpty else {
            throw ValidationError(
                "tokens are not taken from the command line, where others can see them: pipe them in or use --file"
            )
        }
    }

    func run() async throws {
        let client = try await self.admin.client()
        guard let name, !self.isForMany else {
            return try await BulkImport(
                client: client,
                path: self.file ?? self.name,
                existing: self.existing ?? .skip,
                isJSON: self.admin.isJSON
            ).run()
        }
        let source: TokenSource = self.file.map { .file($0) } ?? .standardInput
        let tokens = try source.read(for: name)
        guard !client.isOpened(by: tokens.refreshToken) else {
            throw CommandFailure(
                .usage,
                "the input is the admin token that opens this gateway; an account needs the refresh token of its provider"
            )
        }
        let before = try await Self.standing(of: name, client)
        let reply = try await client.send(.importTokens(tokens.body, for: name))
        if self.admin.isJSON { return Console.say(reply.text) }
        let account = try reply.read(AccountReply.self)
        Console.say(AccountText(times: RelativeTime(now: .now)).imported(account, over: before))
    }

    /// The account's current state; `nil` if the gateway doesn't show it.
    ///
    /// If this request is unauthorized or finds no gateway, the import would fail the same way. A second attempt would
    /// cost time and count as another wrong token, after which the gateway slows down its responses.
    private static func standing(of name: String, _ client: AdminClient) async throws(CommandFailure) -> AccountReply? {
        let reply = try await client.exchange(.account(name))
        let failure = client.refusal(in: reply, of: AdminRequest.importTokens([], for: name).attempt)
        if let failure, failure.status == .notAllowed || failure.status == .unavailable { throw failure }
        return try? reply.read(AccountReply.self)
    }
}

extension ExistingPolicy: ExpressibleByArgument {}
