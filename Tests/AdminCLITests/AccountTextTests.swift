internal import AdminCLI
internal import Foundation
internal import Testing

@Suite struct AccountTextTests {
    private static let answer = """
        {"accounts":[
        {"configured":true,"expires_at":"2025-11-21T00:54:00.000Z","generation":12,"last_error":null,\
        "last_refresh_at":"2025-11-20T23:54:00.000Z","name":"alice","provider":"acme","scopes":["read","write"],\
        "state":"valid"},
        {"configured":false,"expires_at":null,"generation":0,"last_error":"invalid_grant","last_refresh_at":null,\
        "name":"old-robot","provider":"gone","scopes":[],"state":"reauthorization_required"}]}
        """
    private let times = RelativeTime(now: Date(timeIntervalSince1970: 1_763_683_200))
    private var text: AccountText { AccountText(times: self.times) }

    private static func accounts() throws -> [AccountReply] {
        try AdminReply(httpStatus: 200, body: Array(Self.answer.utf8)).read(AccountsReply.self).accounts
    }

    @Test func `accounts are a table`() throws {
        #expect(
            self.text.table(try Self.accounts()) == [
                "ACCOUNT    PROVIDER  STATE                                     TOKEN ENDS  LAST REFRESH  LAST ERROR",
                "alice      acme      valid                                     in 54 min   6 min ago     -",
                "old-robot  gone      reauthorization_required, not configured  -           -             invalid_grant",
            ]
        )
    }

    @Test func `one account is shown with all its details`() throws {
        #expect(
            self.text.details(try Self.accounts()[0]) == [
                "account       alice",
                "provider      acme",
                "state         valid",
                "token ends    in 54 min (2025-11-21T00:54:00.000Z)",
                "last refresh  6 min ago (2025-11-20T23:54:00.000Z)",
                "last error    -",
                "generation    12",
                "scopes        read write",
            ]
        )
        #expect(
            self.text.details(try Self.accounts()[1]).contains("configured    no, only its record is left in the store")
        )
    }

    @Test(arguments: [("tokens_killed", "were killed and stay dead"), ("tokens_removed", "were removed")])
    func `the reason for missing tokens is shown with a remedy`(lastError: String, what: String) throws {
        let answer = """
            {"configured":true,"generation":0,"name":"alice","provider":"acme","scopes":[],"state":"empty",\
            "last_error":"\(lastError)"}
            """
        let account = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(AccountReply.self)
        #expect(
            self.text.details(account).contains(
                "what helps    its tokens \(what): sign in with martlet login alice, or import new tokens with "
                    + "martlet accounts import alice"
            )
        )
    }

    @Test(arguments: [
        ("killed", "null", "sign in with martlet login old-robot or import new tokens (minted ones"),
        ("empty", #""tokens_killed""#, "sign in with martlet login old-robot, or import new tokens with "),
        ("empty", #""tokens_removed""#, "sign in with martlet login old-robot, or import new tokens with "),
        ("empty", "null", "sign in with martlet login old-robot, or import new tokens with "),
    ])
    func `the remedy for an unconfigured account is to configure it before an import`(
        state: String,
        lastError: String,
        help: String
    ) throws {
        // Given an account, once configured and once with only its record in the store
        func remedy(configured: Bool) throws -> String {
            let answer = """
                {"configured":\(configured),"generation":0,"name":"old-robot","provider":"gone","scopes":[],\
                "state":"\(state)","last_error":\(lastError)}
                """
            let account = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(AccountReply.self)
            return try #require(account.remedy())
        }

        // When its remedy is shown
        let remedies = (known: try remedy(configured: true), unknown: try remedy(configured: false))

        // Then the remedy for the unconfigured one is to configure it first, because its import would be refused
        let first = "add accounts.old-robot to the configuration first, then "
        #expect(remedies.unknown.contains(first + help), "\(remedies.unknown)")
        #expect(!remedies.known.contains("configuration"), "\(remedies.known)")
    }

    private static func troubled(
        _ kind: String,
        _ reason: String,
        state: String = "valid",
        lastError: String = "null"
    ) throws -> AccountReply {
        let answer = """
            {"configured":true,"expires_at":"2025-11-21T00:54:00.000Z","generation":1,"last_error":\(lastError),\
            "name":"alice","provider":"acme","scopes":[],"state":"\(state)","trouble":{"kind":"\(kind)",\
            "reason":"\(reason)","known_since":"2025-11-20T23:55:00.000Z"}}
            """
        return try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(AccountReply.self)
    }

    @Test func `a valid account in trouble is not shown as healthy`() throws {
        let account = try Self.troubled(
            "token_refused",
            "config.invalid_client",
            lastError: #""config.invalid_client""#
        )
        #expect(
            self.text.table([account]) == [
                "ACCOUNT  PROVIDER  STATE                 TOKEN ENDS  LAST REFRESH  LAST ERROR",
                "alice    acme      valid, token refused  in 54 min   -             config.invalid_client",
                "",
                "1 account is in trouble: martlet accounts show alice says why, and what helps",
            ]
        )
        let details = self.text.details(account)
        #expect(details.contains("state         valid, token refused"))
        #expect(
            details.contains(
                "trouble       an API responded 401 to the access token, and no other token is available "
                    + "(config.invalid_client)"
            )
        )
        #expect(details.contains("known since   5 min ago (2025-11-20T23:55:00.000Z)"))
        #expect(
            details.contains { $0.hasPrefix("what helps    the provider refuses the client: check client_id") }
        )
    }

    @Test(arguments: [
        ("client_refused", "provider_config", "valid", "valid, client refused", "check client_id, client_secret"),
        ("refresh_failing", "provider_failing", "valid", "valid, refresh failing", "is asked again by itself"),
        ("refresh_failing", "no_refresh_token", "valid", "valid, refresh failing", "martlet accounts import alice"),
        ("refresh_failing", "throttled", "backing_off", "backing_off, token valid", "the provider asks to wait"),
        (
            "client_refused", "config.invalid_client", "backing_off", "backing_off, token valid, client refused",
            "check client_id, client_secret"
        ),
        (
            "token_refused", "config.invalid_client", "backing_off", "backing_off, token refused",
            "check client_id, client_secret"
        ),
        (
            "refresh_failing", "invalid_grant", "reauthorization_required", "reauthorization_required, token valid",
            "import new tokens with martlet accounts import alice"
        ),
        (
            "token_refused", "invalid_grant", "reauthorization_required", "reauthorization_required, token refused",
            "import new tokens with martlet accounts import alice"
        ),
        ("refresh_overdue", "unused_too_long", "valid", "valid, refresh overdue", "martlet accounts refresh alice"),
        ("of_tomorrow", "why", "valid", "valid, of tomorrow", "see the gateway's log"),
    ])
    func `trouble besides the state is shown with a remedy`(
        kind: String,
        reason: String,
        state: String,
        shown: String,
        help: String
    ) throws {
        let account = try Self.troubled(kind, reason, state: state)
        #expect(self.text.table([account])[1].hasPrefix("alice    acme      \(shown)  "))
        #expect(self.text.table([account])[1].hasSuffix(reason))
        #expect(self.text.details(account).contains { $0.hasPrefix("what helps") && $0.contains(help) })
    }

    @Test(arguments: [
        ("reauthorization_required", "invalid_grant", true, true),
        ("reauthorization_required", "bound_elsewhere", true, true), ("unreadable", "null", true, true),
        ("reauthorization_required", "invalid_grant", false, false), ("empty", "tokens_removed", true, false),
        ("killed", "invalid_grant", true, false), ("expired", "x", true, false),
    ])
    func `a configured account that needs an operator counts as in trouble`(
        state: String,
        lastError: String,
        isConfigured: Bool,
        isInTrouble: Bool
    ) throws {
        let answer = """
            {"configured":\(isConfigured),"generation":1,"last_error":"\(lastError)","name":"alice","provider":"acme",\
            "scopes":[],"state":"\(state)"}
            """
        let account = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(AccountReply.self)
        let hint = "1 account is in trouble: martlet accounts show alice says why, and what helps"
        #expect((self.text.table([account]).last == hint) == isInTrouble)
    }

    @Test func `an account that is not valid after a refresh fails the command with a remedy`() throws {
        let accounts = try Self.accounts()
        #expect(accounts[0].failureAfterRefresh(self.times) == nil)
        let failure = try #require(accounts[1].failureAfterRefresh(self.times))
        #expect(failure.status == .no)
        #expect(
            failure.message == "account old-robot is not valid: reauthorization_required (invalid_grant); "
                + "add accounts.old-robot to the configuration first, then sign in with martlet login old-robot, or "
                + "import new tokens with martlet accounts import old-robot"
        )
    }

    @Test(arguments: ["null", #""killed""#, #""invalid_grant""#])
    func `a killed account is not refreshed, and the revive command is named`(lastError: String) throws {
        let answer = """
            {"configured":true,"generation":1,"name":"alice","provider":"acme","scopes":[],"state":"killed",\
            "last_error":\(lastError)}
            """
        let account = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(AccountReply.self)
        let failure = try #require(account.failureAfterRefresh(self.times))
        #expect(failure.status == .no)
        let reason = lastError.contains("grant") ? " (invalid_grant)" : ""
        #expect(failure.message.hasPrefix("account alice is not valid: killed\(reason); martlet kills shows"))
        let lift = "martlet revive --account alice (or --provider acme, or --all, whichever was killed) --reason TEXT"
        #expect(failure.message.contains("\(lift) lifts that"))
    }

    @Test(arguments: [
        (#"{"all":true}"#, "martlet revive --all --reason TEXT lifts that; "),
        (#"{"provider":"other"},{"provider":"acme"}"#, "martlet revive --provider acme --reason TEXT lifts that; "),
        (
            #"{"account":"bob"},{"account":"alice"},{"all":true}"#,
            "martlet revive --account alice --reason TEXT and martlet revive --all --reason TEXT lift that; "
        ),
    ])
    func `if the kills are known, exactly their revive commands are named`(killed: String, lift: String) throws {
        // Given a killed account, and the list of killed scopes
        let answer =
            #"{"configured":true,"generation":1,"name":"alice","provider":"acme","scopes":[],"state":"killed"}"#
        let account = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(AccountReply.self)
        let kills = try AdminReply(httpStatus: 200, body: Array("[\(killed)]".utf8)).read([ScopeReply].self)
            .filter { $0.holds(account) }

        // When it is shown, or its refresh fails
        let details = self.text.details(account, kills: kills)
        let failure = try #require(account.failureAfterRefresh(self.times, kills: kills))

        // Then only the revive commands of the kills that hold it are named
        #expect(details.contains { $0.hasPrefix("what helps    martlet kills shows why it is killed; \(lift)") })
        #expect(failure.message.contains("is not valid: killed; martlet kills shows why it is killed; \(lift)"))
    }

    @Test func `an expired token is not called valid while its refresh is delayed`() throws {
        let answer = """
            {"configured":true,"expires_at":"2025-11-20T23:54:00.000Z","generation":1,"last_error":"throttled",\
            "name":"alice","provider":"acme","scopes":[],"state":"backing_off"}
            """
        let account = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(AccountReply.self)
        #expect(self.text.details(account).contains("state         backing_off"))
    }

    @Test(arguments: [
        (true, "invalid_grant", "reauthorization_required, token valid"),
        // No caller gets a token of another client, or of an account that is no longer configured.
        (true, "bound_elsewhere", "reauthorization_required"),
        (false, "invalid_grant", "reauthorization_required"),
    ])
    func `the state says whether callers are served until somebody signs in`(
        isConfigured: Bool,
        lastError: String,
        state: String
    ) throws {
        let answer = """
            {"configured":\(isConfigured),"expires_at":"2025-11-21T00:54:00.000Z","generation":1,\
            "last_error":"\(lastError)","name":"alice","provider":"acme","scopes":[],"state":"reauthorization_required"}
            """
        let account = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(AccountReply.self)
        #expect(self.text.details(account).contains("state         \(state)"))
    }

    @Test(arguments: [
        ("config.invalid_client", "check client_id, client_secret and client_auth of providers.acme"),
        ("provider_config", "check client_id, client_secret and client_auth of providers.acme"),
        ("account_config.invalid_scope", "check scopes and grant of accounts.alice"),
        ("not_sent.connect_failed", "the token endpoint of providers.acme can't be reached"),
        ("not_sent.discovery_failed", "the metadata of the issuer of providers.acme can't be fetched or used"),
        ("throttled", "the provider asks to wait"),
        ("refresh_limit", "it was refreshed too often"),
        ("refresh_rate", "refresh_rate of providers.acme"),
        ("refused.no_known_reason", "sign in with martlet login alice, or import new tokens with "),
        ("not_provider.html", "something else answers at the token endpoint of providers.acme"),
        ("not_provider", "something else answers at the token endpoint of providers.acme"),
        ("ambiguous.timed_out", "see the gateway's log"),
    ])
    func `a failed refresh fails the command even while the old token is valid`(reason: String, help: String) throws {
        let answer = """
            {"configured":true,"generation":1,"name":"alice","provider":"acme","scopes":[],"state":"valid",\
            "last_error":"\(reason)"}
            """
        let account = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(AccountReply.self)
        let failure = try #require(account.failureAfterRefresh(self.times))
        #expect(failure.status == .no)
        #expect(
            failure.message.hasPrefix("account alice was not refreshed (\(reason)), and its old token is still valid; ")
        )
        #expect(failure.message.contains(help))
        #expect(account.failureAfterAdoption == nil)
    }

    @Test(arguments: [
        ("backing_off", #""throttled""#, "was not refreshed (throttled)", "the provider asks to wait"),
        ("backing_off", "null", "was not refreshed (provider_failing)", "is asked again by itself"),
        ("refreshing", "null", "is not refreshed yet", "it is still under way"),
        (
            "reauthorization_required", #""invalid_grant""#, "was not refreshed (invalid_grant)",
            "import new tokens with martlet accounts import alice"
        ),
    ])
    func `a token that is still valid is mentioned, whatever the state is`(
        state: String,
        lastError: String,
        what: String,
        help: String
    ) throws {
        // Given an account whose token is valid for 54 minutes, and one whose token has expired
        let valid = try Self.troubled("refresh_failing", "provider_failing", state: state, lastError: lastError)
        let answer = """
            {"configured":true,"expires_at":"2025-11-20T23:54:00.000Z","generation":1,"last_error":\(lastError),\
            "name":"alice","provider":"acme","scopes":[],"state":"\(state)"}
            """
        let ended = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(AccountReply.self)

        // When a refresh returns no token
        let failure = try #require(valid.failureAfterRefresh(self.times))
        let last = try #require(ended.failureAfterRefresh(self.times))

        // Then both fail, and only the second has no valid token
        #expect(failure.status == .no && last.status == .no)
        let token = "and its old token is still valid (it ends in 54 min); "
        #expect(failure.message.hasPrefix("account alice \(what), \(token)"), "\(failure.message)")
        #expect(failure.message.contains(help))
        #expect(last.message.hasPrefix("account alice is not valid: \(state)"))
    }

    @Test func `a token that an upstream refuses is not called valid`() throws {
        // Given an account whose token is valid for 54 minutes, but got status 401
        let account = try Self.troubled(
            "token_refused",
            "config.invalid_client",
            lastError: #""config.invalid_client""#
        )

        // When a refresh returns no token
        let failure = try #require(account.failureAfterRefresh(self.times))

        // Then the message does not suggest that the old token works
        #expect(failure.status == .no)
        let token = "its old token has not ended, but an upstream refuses it (it ends in 54 min)"
        #expect(
            failure.message.hasPrefix("account alice was not refreshed (config.invalid_client), and \(token); "),
            "\(failure.message)"
        )
    }

    @Test func `a token of another client is not called valid`() throws {
        let account = try Self.troubled("x", "y", state: "reauthorization_required", lastError: #""bound_elsewhere""#)
        let failure = try #require(account.failureAfterRefresh(self.times))
        #expect(failure.message.hasPrefix("account alice is not valid: reauthorization_required (bound_elsewhere); "))
    }

    @Test(arguments: [("empty", "imported tokens for alice"), ("valid", "replaced the tokens of alice")])
    func `an import says whether it replaced tokens`(state: String, begin: String) throws {
        let answer =
            #"{"configured":true,"generation":1,"name":"alice","provider":"acme","scopes":[],"state":"\#(state)"}"#
        let account = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(AccountReply.self)
        let times = RelativeTime(now: Date(timeIntervalSince1970: 1_763_683_200))
        #expect(
            AccountText(times: times).imported(try Self.accounts()[0], over: account)
                == "\(begin); its access token ends in 54 min"
        )
    }
}
