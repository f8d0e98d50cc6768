internal import AdminAPI
internal import Audit
internal import KillSwitch
internal import Logging
internal import NIOHTTP1
internal import OAuth
internal import ProviderClient
internal import SignIn
internal import TestKit
internal import Testing
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// A listener for sign-ins on a real engine, with a store in memory and a scripted provider.
///
/// Browsers know it as `https://martlet.example`, as behind a proxy.
struct LoginFixture: Sendable {
    static let redirectURI = "https://martlet.example/login/callback"
    /// A name that a page must not take for markup.
    static let markup = #"<img src=x onerror="alert('1')">&"#
    /// The accounts and their providers.
    private static let accounts = ["alice": "acme", "bob": "acme", "carol": "beta", markup: "acme"]

    let server: LoginServer
    let signIns: SignInService
    let engine: RefreshEngine
    let kills: KillSwitch
    let audit: AuditTrail
    let provider: ScriptedAuthorizationServer
    let store: FaultyTokenStore
    let caller: AdminCaller
    let logs: RecordingLog

    /// - Parameters:
    ///   - timepiece: that of the sign-ins.
    ///   - waiting: that by which responses wait.
    static func run(
        redirectURI: String = Self.redirectURI,
        limits: AdminLimits = .login,
        timepiece: Timepiece = .system,
        waiting: Timepiece = .system,
        _ body: @Sendable (LoginFixture) async throws -> Void
    ) async throws {
        let fixture = try await Self.start(redirectURI, limits, timepiece, waiting)
        try await withThrowingTaskGroup(of: Void.self) { services in
            services.addTask { await fixture.engine.run() }
            services.addTask { await fixture.kills.run() }
            services.addTask { await fixture.audit.run() }
            let signIns = Task { await fixture.signIns.run() }
            services.addTask { try await fixture.server.run() }
            // All services stop even if `body` throws. Otherwise a failed test would wait for them forever.
            let outcome = await Result { try await body(fixture) }
            fixture.store.recover()
            fixture.provider.release()
            fixture.server.stop()
            fixture.signIns.stop()
            // Tokens that were asked for are stored first, for which the others are needed.
            await signIns.value
            fixture.engine.stop()
            fixture.kills.stop()
            fixture.audit.stop()
            try await fixture.caller.close()
            try await services.waitForAll()
            try outcome.get()
        }
        #expect(!fixture.caller.received.contains("canary"))
        #expect(!fixture.logs.text.contains("canary"))
    }

    private static func start(
        _ redirectURI: String,
        _ limits: AdminLimits,
        _ timepiece: Timepiece,
        _ waiting: Timepiece
    ) async throws -> LoginFixture {
        let tokenEndpoint = ScriptedTokenEndpoint()
        let provider = ScriptedAuthorizationServer(tokenEndpoint.binding)
        let store = FaultyTokenStore()
        let records = SealedRecords(store: store, keyRing: KeyRing(current: .random()), storeID: .random())
        let logs = RecordingLog()
        let fence = EngineFence()
        let kills = KillSwitch(
            records,
            incarnation: .random(),
            name: "a",
            lease: .seconds(10),
            logger: logs.logger,
            fence: fence,
            target: { _ in RevocationTarget(endpoint: tokenEndpoint) }
        )
        let engine = RefreshEngine(
            plans: Self.accounts.map { name, provider in
                AccountConfiguration(
                    account: AccountID(name),
                    provider: ProviderID(provider),
                    grant: .refreshToken,
                    endpoint: tokenEndpoint,
                    scopes: ["read", "write"]
                )
            },
            vault: AccountVault(records),
            kills: kills,
            incarnation: .random(),
            logger: logs.logger
        ) { _ in }
        fence.connect(to: engine)
        try await kills.start()
        let audit = AuditTrail(records, incarnation: .random(), replica: "a", logger: logs.logger)
        let configuration = SignInConfiguration(
            gatewayRedirectURI: redirectURI,
            providers: [
                ProviderID("acme"): SignInConfiguration.Provider(server: provider),
                ProviderID("beta"): SignInConfiguration.Provider(
                    server: provider,
                    redirectURI: redirectURI + "/beta"
                ),
            ]
        )
        let signIns = SignInService(
            records,
            engine: engine,
            audit: audit,
            timepiece: timepiece,
            logger: logs.logger
        ) { configuration }
        let server = try await LoginServer.listen(
            on: AdminAddress(host: "127.0.0.1", port: 0),
            signIns: { signIns },
            redirectURI: redirectURI,
            limits: limits,
            timepiece: waiting,
            logger: logs.logger
        )
        return LoginFixture(
            server: server,
            signIns: signIns,
            engine: engine,
            kills: kills,
            audit: audit,
            provider: provider,
            store: store,
            caller: AdminCaller(base: "http://\(server.address)", token: ""),
            logs: logs
        )
    }

    /// Runs `body` with an admin API on the same engine, whose caller has the token of ``AdminFixture``.
    func withAdminAPI(tokens: AdminTokens, _ body: (AdminCaller) async throws -> Void) async throws {
        let gateway = OpenGateway(
            engine: self.engine,
            kills: self.kills,
            signIns: self.signIns,
            audit: self.audit,
            caches: ScriptedCaches()
        )
        let server = try await AdminServer.listen(
            on: AdminAddress(host: "127.0.0.1", port: 0),
            gateway: CurrentGateway(name: "a", gateway),
            monitor: ScriptedMonitor(),
            tokens: tokens,
            logger: self.logs.logger
        )
        let caller = AdminCaller(base: "http://\(server.address)", token: AdminFixture.adminToken)
        try await withThrowingTaskGroup(of: Void.self) { services in
            services.addTask { try await server.run() }
            let outcome = await Result { try await body(caller) }
            server.stop()
            try await caller.close()
            try await services.waitForAll()
            try outcome.get()
        }
    }

    // MARK: - What a browser does

    /// One sign-in in one browser.
    struct Attempt: Sendable {
        let id: SignInID
        /// Where the browser was sent to sign in.
        let location: String
        /// `NAME=VALUE`, as in a `Cookie` field.
        let cookie: String
        /// The path and query that the provider sends the browser back with.
        var answer: String

        /// The path of the page at the end.
        var done: String { "/login/done/\(self.id)" }
    }

    /// Sends a request as a browser does for a person's click.
    func get(
        _ path: String,
        cookie: String? = nil,
        method: HTTPMethod = .GET,
        _ changes: [String: String] = [:]
    ) async throws -> AdminCaller.Answer {
        var fields = ["Host": "martlet.example", "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"]
        fields["Cookie"] = cookie
        fields.merge(changes) { $1 }
        return try await self.caller.send(method, path, fields: HTTPHeaders(fields.map { ($0, $1) }))
    }

    func begin(_ account: String = "alice") async throws -> SignInReport {
        try await self.signIns.begin(AccountID(account), .gateway, by: .admin("olga", at: "127.0.0.1"))
    }

    /// Opens a sign-in, a new one unless `id` names it.
    func open(_ account: String = "alice", _ id: SignInID? = nil) async throws -> Attempt {
        var id = id
        if id == nil { id = try await self.begin(account).id }
        let opened = try #require(id)
        let answer = try await self.get("/login/start/\(opened)")
        try #require(answer.status == 303)
        let location = try #require(answer.headers.first(name: "location"))
        let cookie = try #require(answer.headers.first(name: "set-cookie")?.split(separator: ";").first)
        let state = try #require(Self.parameter("state", of: location))
        let redirect = try #require(Self.parameter("redirect_uri", of: location))
        let path = redirect.replacing("%3A", with: ":").replacing("%2F", with: "/")
            .replacing("https://martlet.example", with: "")
        return Attempt(
            id: opened,
            location: location,
            cookie: String(cookie),
            answer: "\(path)?code=code-canary&state=\(state)"
        )
    }

    func status(of account: String = "alice") async -> AccountStatus? {
        await self.engine.status(of: AccountID(account))
    }

    private static func parameter(_ name: String, of address: String) -> String? {
        address.split(separator: "?").last?.split(separator: "&").first { $0.hasPrefix("\(name)=") }
            .map { String($0.dropFirst(name.count + 1)) }
    }
}
