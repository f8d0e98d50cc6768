internal import AdminCLI
internal import Foundation
internal import Testing

@Suite struct StatusTextTests {
    /// The current time is 2025-11-21T00:00:00Z.
    private static let times = RelativeTime(now: Date(timeIntervalSince1970: 1_763_683_200))

    private static func lines(_ answer: String) throws -> [String] {
        let status = try AdminReply(httpStatus: 200, body: Array(answer.utf8)).read(StatusReply.self)
        return StatusText(times: Self.times).lines(status)
    }

    @Test func `a status counts the accounts of a provider that are in trouble`() throws {
        let accounts = ["alice", "bob"].map { name in
            """
            {"configured":true,"generation":1,"name":"\(name)","provider":"acme","scopes":[],"state":"valid",\
            "trouble":{"kind":"client_refused","reason":"provider_config","known_since":"2025-11-20T23:55:00.000Z"}}
            """
        }
        let answer = """
            {"version":"1.2.3","ready":true,"replica":{"name":"a","started_at":"2025-11-20T21:00:00.000Z"},\
            "store":{"driver":"sqlite","open":true},"listeners":[],"providers":[{"name":"acme","accounts":\
            {"valid":2}}],"accounts":[\(accounts.joined(separator: ","))]}
            """
        let lines = try Self.lines(answer)
        #expect(lines.contains("acme      2         2 valid; 2 in trouble"))
        #expect(lines.last?.hasPrefix("2 accounts are in trouble: martlet accounts show alice ") == true)
    }

    @Test(arguments: [
        ("expired", "null", "not fetched yet"), ("expired", "\"2025-11-20T23:54:00.000Z\"", "expired"),
        ("backing_off", "null", "backing_off"), ("empty", "null", "empty"),
    ])
    func `an access token that never existed is not shown as expired`(state: String, ends: String, shown: String) throws
    {
        let account = """
            {"configured":true,"expires_at":\(ends),"generation":1,"name":"alice","provider":"acme","scopes":[],\
            "state":"\(state)"}
            """
        let reply = try AdminReply(httpStatus: 200, body: Array(account.utf8)).read(AccountReply.self)
        let text = AccountText(times: Self.times)
        #expect(text.table([reply])[1].contains("acme      \(shown)"))
        #expect(text.details(reply).contains("state         \(shown)"))
        let answer = """
            {"version":"1.2.3","ready":true,"replica":{"name":"a","started_at":"2025-11-20T21:00:00.000Z"},\
            "store":{"driver":"sqlite","open":true},"listeners":[],"providers":[{"name":"acme","accounts":\
            {"\(state)":2,"valid":1}}],"accounts":[\(account)]}
            """
        let counts = ["valid": 1].merging([(state, 1), (shown, 1)], uniquingKeysWith: +)
        let states = counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        #expect(try Self.lines(answer).contains("acme      3         \(states)"))
    }

    @Test(arguments: [
        (
            #""replicated":false,"clock_offset_ms":3"#,
            ["no standby or replica confirms writes: a failover may lose the last ones"]
        ),
        (
            #""replicated":true,"lossless":true,"standbys":2,"clock_offset_ms":0"#,
            ["each write waits for a synchronous standby (2 connected): a failover to it loses nothing"]
        ),
        (
            #""replicated":true,"lossless":false,"standbys":2,"clock_offset_ms":0"#,
            ["each write waits for a replica (2 connected): a failover to another one may lose the last writes"]
        ),
        (
            #""clock_offset_ms":0,"move":{"state":"moving","moved":7}"#, ["moving, 7 records moved by this replica"]
        ),
        (
            #""mirrors":[{"name":"b.db","state":"up_to_date","complete_at":"2025-11-20T21:00:00.000Z"}]"#,
            ["mirror b.db: up to date, complete at 2025-11-20T21:00:00.000Z"]
        ),
        (
            #""replicated":true,"lossless":true,"clock_offset_ms":0"#,
            ["each write waits for a synchronous standby: a failover to it loses nothing"]
        ),
        (
            #""replicated":true,"standbys":0,"clock_offset_ms":-2000"#,
            [
                "writes wait for a synchronous standby, and none is connected",
                "this host's clock is 2000 ms ahead of the store's, which counts",
            ]
        ),
    ])
    func `a status tells what a failover of the store may lose, and whether the clocks differ`(
        server: String,
        texts: [String]
    ) throws {
        let answer = """
            {"version":"1.2.3","ready":true,"replica":{"name":"a","started_at":"2025-11-20T21:00:00.000Z"},\
            "store":{"driver":"postgres","open":true,\(server)},"listeners":[],"providers":[],"accounts":[]}
            """
        let shown = try Self.lines(answer).filter { $0.hasPrefix("store ") }.map { String($0.dropFirst(11)) }
        #expect(shown == ["postgres, open"] + texts)
    }

    @Test(
        arguments: [
            (#""state":"answering","retry_at":null"#, nil),
            (
                #""state":"refuses_client","retry_at":"2025-11-21T00:00:20.000Z""#,
                "acme refuses the client; check client_id, client_secret and client_auth, asked again in 20 s"
            ),
            (
                #""state":"failing","retry_at":"2025-11-21T00:00:07.000Z""#,
                "acme fails; requests to it pause for a while, asked again in 7 s"
            ),
            (
                #""state":"refuses_client","retry_at":"2025-11-21T00:00:00.000Z""#,
                "acme refuses the client; check client_id, client_secret and client_auth, asked again with the next "
                    + "refresh, such as martlet accounts refresh makes at once"
            ),
            (
                #""state":"not_provider","retry_at":"2025-11-21T00:00:07.000Z""#,
                "acme is not reached: something else responds at its token endpoint; check token_endpoint and what stands before it, asked again "
                    + "in 7 s"
            ),
            (
                #""state":"answering","retry_at":null,"revokes":false"#,
                "acme names no revocation endpoint: a kill or a removal revokes nothing there; "
                    + "providers.acme.revocation_endpoint names one"
            ),
            (#""state":"answering","retry_at":null,"revokes":true"#, nil),
            (#""state":"answering","retry_at":null,"revokes":null"#, nil),
            (
                #""state":"failing","retry_at":null"#,
                "acme fails; requests to it pause for a while, being asked again now"
            ),
        ] as [(String, String?)]
    )
    func `a provider with a problem is named below the table`(standing: String, line: String?) throws {
        let answer = """
            {"version":"1.2.3","ready":true,"replica":{"name":"a","started_at":"2025-11-20T21:00:00.000Z"},\
            "store":{"driver":"sqlite","open":true},"listeners":[],"providers":[{"name":"acme",\(standing),"accounts":\
            {"valid":1}}],"accounts":[]}
            """
        let lines = try Self.lines(answer)
        #expect(lines.first { $0.hasPrefix("acme ") && !$0.hasPrefix("acme  ") } == line)
    }

    @Test func `a stopping gateway is shown as stopping`() throws {
        let answer = """
            {"version":"1.2.3","ready":false,"stopping":true,"replica":{"name":"a","started_at":"2025-11-20T21:00:00.000Z"},\
            "store":{"driver":"sqlite","open":true},"listeners":[],"providers":[],"accounts":[]}
            """
        #expect(try Self.lines(answer).first?.hasSuffix("1.2.3, not ready, stopping") == true)
    }

    @Test(
        arguments: [
            (#"{"needs_restart":["store","replica"]}"#, ["restart needed for what was changed in store, replica"]),
            (
                #"{"reload_failed":{"at":"2025-11-20T23:57:00.000Z","code":"config_invalid","fault":"f:1: a","faults":1}}"#,
                ["reload failed 3 min ago, nothing has changed: f:1: a"]
            ),
            (
                #"{"reload_failed":{"at":"2025-11-20T23:57:00.000Z","code":"config_invalid","fault":"f:1: a","faults":3},"#
                    + #""needs_restart":["store"]}"#,
                [
                    "reload failed 3 min ago, nothing has changed: f:1: a (and 2 more, which are in the log)",
                    "restart needed for what was changed in store",
                ]
            ),
        ] as [(String, [String])]
    )
    func `a failed reload and settings that need a restart are shown`(configuration: String, texts: [String]) throws {
        let answer = """
            {"version":"1.2.3","ready":true,"replica":{"name":"a","started_at":"2025-11-20T21:00:00.000Z"},\
            "configuration":\(configuration),"store":{"driver":"sqlite","open":true},"listeners":[],"providers":[],\
            "accounts":[]}
            """
        let lines = try Self.lines(answer).filter { $0.hasPrefix("configuration") }
        #expect(lines == texts.map { "configuration  \($0)" })
    }

    private static let family = """
        {"family":"customer-*","provider":"acme","accounts":98214,"max":100000,\
        "states":{"valid":812,"expired":97402,"empty":0}}
        """

    @Test(arguments: [
        ("[]", ["FAMILY", "customer-*"]),
        (
            #"[{"configured":true,"expires_at":null,"generation":1,"name":"alice","provider":"acme","scopes":[],"state":"empty"}]"#,
            ["FAMILY", "customer-*", "", "ACCOUNT", "alice"]
        ),
    ])
    func `a family is shown in numbers, before the accounts that have a name in the configuration`(
        accounts: String,
        lines: [String]
    ) throws {
        let answer = """
            {"version":"1.2.3","ready":true,"replica":{"name":"a","started_at":"2025-11-20T21:00:00.000Z"},\
            "store":{"driver":"sqlite","open":true},"listeners":[],"providers":[{"name":"acme","accounts":\
            {"valid":813,"expired":97402}}],"families":[\(Self.family)],"accounts":\(accounts)}
            """
        let shown = try Self.lines(answer)
        #expect(shown.contains("acme      98,215    97,402 expired, 813 valid"))
        #expect(shown.contains("customer-*  acme      98,214 of 100,000  97,402 expired, 812 valid"))
        let last = shown.suffix(lines.count).map { $0.prefix { $0 != " " } }
        #expect(last == lines.map { $0[...] })
    }

    @Test func `a status is shown at a glance`() throws {
        let answer = """
            {"version":"1.2.3","ready":false,"replica":{"name":"a","boot":"b","started_at":"2025-11-20T21:00:00.000Z"},\
            "store":{"driver":"sqlite","open":false},"listeners":[{"address":"127.0.0.1:8080","bound":true},\
            {"address":"[::1]:8080","bound":false}],"providers":[{"name":"acme","accounts":{"valid":2,"empty":1}}],\
            "accounts":[]}
            """
        #expect(
            try Self.lines(answer) == [
                "martlet    1.2.3, not ready",
                "replica    a, started 3 h ago",
                "store      sqlite, out of reach",
                "listeners  127.0.0.1:8080, [::1]:8080 (not bound)",
                "",
                "PROVIDER  ACCOUNTS  STATES",
                "acme      3         1 empty, 2 valid",
                "",
                "no accounts",
            ]
        )
    }
}
