internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import TextCoding
internal import TokenModel
internal import UnixSignals

/// `martlet login`.
struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Sign in at an account's provider; the gateway gets the tokens.",
        discussion: """
            Opens a browser where there is one, and waits on a port of loopback for its answer. Without a browser, as in a \
            container or over SSH, it prints the address to open anywhere, and asks for the address that the browser was sent \
            to. No token comes by here: the gateway trades the code. What it gets replaces the account's tokens.

            Exits with 1 when nobody signed in, or the provider gave no tokens; then the old ones are what they were. A sign-in \
            takes 10 minutes at most; Ctrl-C cancels it.

            Example:
              martlet login alice
              martlet login alice --device
              docker compose exec -it martlet martlet login alice --paste
            """
    )

    @Argument(help: "The account's name in the configuration.") var name: String

    /// Positional arguments that are probably codes. They are parsed only to be refused without being repeated.
    @Argument(help: .hidden) var excess: [String] = []

    @Flag(help: "Show a code to type at the provider's page, on any device.") var device = false
    @Flag(help: "Ask for the address that the browser was sent to, instead of listening.") var paste = false
    @Flag(help: "Let the browser come back to the gateway's own login address.") var gateway = false
    @Flag(name: .customLong("no-browser"), help: "Open no browser; print the address, and listen.")
    var noBrowser = false
    @Flag(
        name: .customLong("replace-subject"),
        help: "Take the tokens also if somebody else signs in than whose account it was."
    )
    var replacesSubject = false

    @OptionGroup var admin: AdminOptions

    func validate() throws {
        guard self.excess.isEmpty, !self.name.contains("://") else {
            throw ValidationError(
                "an address or a code is not taken from the command line, where others can see it: martlet login NAME "
                    + "asks for it"
            )
        }
        guard [self.device, self.paste, self.gateway].count(where: \.self) <= 1 else {
            throw ValidationError("name at most one of --device, --paste and --gateway")
        }
    }

    func run() async throws {
        let client = try await self.admin.client()
        let plan = LoginPlan(wish: self.wish, opensBrowser: !self.noBrowser, in: .system)
        let outcome = try await self.outcome(of: plan, at: client)
        let text = SignInText(times: RelativeTime(now: .now))
        if self.admin.isJSON { Console.say(outcome.text) }
        if let failure = text.failure(outcome.signIn) { throw failure }
        if !self.admin.isJSON {
            let reply = try? await client.silent.send(AdminRequest.account(self.name).within(.seconds(10)))
            Console.say(text.success(outcome.signIn, try? reply?.read(AccountReply.self)))
        }
        if let warning = text.warning(outcome.signIn) { Console.complain(warning) }
    }

    private var wish: LoginWay? { self.device ? .device : self.paste ? .paste : self.gateway ? .gateway : nil }

    private func outcome(of plan: LoginPlan, at client: AdminClient) async throws -> SignInOutcome {
        switch plan.way {
        case .loopback:
            guard let (session, listener) = try await self.listening(at: client) else {
                return try await self.pasted(at: client)
            }
            self.invite(session, by: .loopback, plan.browser)
            return try await Self.untilSignal(session, plan.browser) {
                try await LoopbackSignIn(session, at: listener, clock: .system).outcome()
            }
        case .paste: return try await self.pasted(at: client)
        case .gateway, .device:
            let session = try await self.started(plan.way, at: client)
            self.invite(session, by: plan.way, plan.browser)
            return try await Self.untilSignal(session, plan.browser) {
                try await session.outcome(every: plan.way == .device ? .seconds(2) : .seconds(1))
            }
        }
    }

    private func pasted(at client: AdminClient) async throws -> SignInOutcome {
        let session = try await self.started(.paste, at: client)
        self.invite(session, by: .paste, nil)
        return try await PasteDialogue.standardInput.outcome(of: session)
    }

    /// Starts a sign-in that comes back to a port of this machine; `nil` if the provider's redirect URI is elsewhere.
    private func listening(at client: AdminClient) async throws -> (SignInSession, LoopbackListener)? {
        let first = try await LoopbackListener.open(.standard)
        let expected: String
        switch try await self.start(.loopback, first.site.redirectURI, at: client) {
        case .started(let session): return (session, first)
        case .redirectDiffers(let uri, _): expected = uri
        }
        first.close()
        guard let redirect = LoopbackRedirect(expected) else {
            Console.mention(
                "the redirect URI of this provider is not on loopback, so no port here can get the answer: it is asked for"
            )
            return nil
        }
        let second = try await LoopbackListener.open(redirect)
        switch try await self.start(.loopback, second.site.redirectURI, at: client) {
        case .started(let session): return (session, second)
        case .redirectDiffers(_, let failure): throw failure
        }
    }

    /// Starts a sign-in for which this command has no redirect URI.
    private func started(_ way: LoginWay, at client: AdminClient) async throws -> SignInSession {
        switch try await self.start(way, nil, at: client) {
        case .started(let session): return session
        case .redirectDiffers(_, let failure): throw failure
        }
    }

    private func start(
        _ way: LoginWay,
        _ redirectURI: String?,
        at client: AdminClient
    ) async throws -> SignInSession.Start {
        try await SignInSession.start(
            SignInOrder(
                account: self.name,
                way: way,
                redirectURI: redirectURI,
                replacesSubject: self.replacesSubject
            ),
            at: client,
            clock: .system,
            mention: { Console.mention($0) }
        )
    }

    /// Prints what to do, on standard error: standard output gets the outcome only.
    private func invite(_ session: SignInSession, by way: LoginWay, _ browser: BrowserProgram?) {
        let text = SignInText(times: RelativeTime(now: .now))
        let opens = browser != nil && session.started.url.flatMap { OpenableAddress($0) } != nil
        for line in text.invitation(session.started, by: way, browser: opens) { Console.report(line) }
    }

    /// Opens the browser, and waits for the outcome. SIGINT and SIGTERM cancel the sign-in.
    private static func untilSignal(
        _ session: SignInSession,
        _ browser: BrowserProgram?,
        _ wait: @escaping @Sendable () async throws -> SignInOutcome
    ) async throws -> SignInOutcome {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let outcome = try await withThrowingTaskGroup(of: Event.self) { tasks in
            tasks.addTask {
                for await _ in signals { break }
                return .signalled
            }
            tasks.addTask { .ended(try await wait()) }
            tasks.addTask {
                await Self.open(session, browser)
                return .opened
            }
            defer { tasks.cancelAll() }
            while let event = try await tasks.next() {
                switch event {
                case .ended(let outcome): return outcome as SignInOutcome?
                case .signalled: return nil
                case .opened: continue
                }
            }
            return nil
        }
        if let outcome { return outcome }
        throw await session.cancel()
    }

    /// What a command that waits can see.
    private enum Event: Sendable {
        case ended(SignInOutcome)
        case signalled
        /// The browser's program was started, or there is none.
        case opened
    }

    private static func open(_ session: SignInSession, _ browser: BrowserProgram?) async {
        guard let browser, let address = session.started.url.flatMap({ OpenableAddress($0) }) else { return }
        guard let process = BrowserProcess(browser, opening: address) else {
            return Console.mention("no browser opens; open the address yourself")
        }
        guard await process.fails(within: .seconds(20), clock: .system) else { return }
        Console.mention("no browser opens; open the address yourself")
    }
}

extension LoginSurroundings {
    /// Those of this process.
    static let system = LoginSurroundings(
        environment: CommandEnvironment.system.environment,
        exists: { FileManager.default.fileExists(atPath: $0) },
        isExecutable: { unsafe access($0, X_OK) == 0 }
    )
}
