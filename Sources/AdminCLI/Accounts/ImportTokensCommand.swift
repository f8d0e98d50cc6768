internal import ArgumentParser
internal import FoundationEssentials

/// `martlet accounts import`.
struct ImportTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Hand an account its tokens, in place of whatever is there.",
        discussion: """
            Reads the provider's token answer as JSON, or a refresh token alone, from standard input or a file. On a \
            terminal it asks, and what is typed is not shown. The provider is not called; the first use does that. What can be \
            told to be no token, such as a web page or the admin token, is refused before anything is sent; \
            the client's secret is refused by the gateway.

            Example:
              martlet accounts import alice < token-answer.json
              pass show acme/alice | martlet accounts import alice
            """
    )

    @Argument(help: "The account's name in the configuration.") var name: String

    /// Positional arguments that are probably tokens. They are parsed only to be refused without being repeated.
    @Argument(help: .hidden) var excess: [String] = []

    @Option(help: ArgumentHelp("Read the tokens from here instead of standard input.", valueName: "file"))
    var file: String?

    @OptionGroup var admin: AdminOptions

    func validate() throws {
        guard self.excess.isEmpty else {
            throw ValidationError(
                "tokens are not taken from the command line, where others can see them: pipe them in or use --file"
            )
        }
    }

    func run() async throws {
        let client = try await self.admin.client()
        let source: TokenSource = self.file.map { .file($0) } ?? .standardInput
        let tokens = try source.read(for: self.name)
        guard !client.isOpened(by: tokens.refreshToken) else {
            throw CommandFailure(
                .usage,
                "the input is the admin token that opens this gateway; an account needs the refresh token of its provider"
            )
        }
        let before = try await self.standing(client)
        let reply = try await client.send(.importTokens(tokens.body, for: self.name))
        if self.admin.isJSON { return Console.say(reply.text) }
        let account = try reply.read(AccountReply.self)
        Console.say(AccountText(times: RelativeTime(now: .now)).imported(account, over: before))
    }

    /// The account's current state; `nil` if the gateway doesn't show it.
    ///
    /// If this request is unauthorized or finds no gateway, the import would fail the same way. A second attempt would
    /// cost time and count as another wrong token, after which the gateway slows down its responses.
    private func standing(_ client: AdminClient) async throws(CommandFailure) -> AccountReply? {
        let reply = try await client.exchange(.account(self.name))
        let failure = client.refusal(in: reply, of: AdminRequest.importTokens([], for: self.name).attempt)
        if let failure, failure.status == .notAllowed || failure.status == .unavailable { throw failure }
        return try? reply.read(AccountReply.self)
    }
}
