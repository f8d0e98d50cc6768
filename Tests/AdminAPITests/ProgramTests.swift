internal import AdminAPI
internal import KillSwitch
internal import NIOHTTP1
internal import OAuth
internal import TestKit
internal import Testing
internal import TokenModel
internal import TokenStorage

@Suite struct ProgramTests {
    private static func program(for admin: AdminFixture) throws -> Program {
        try Program(environment: ["MARTLET_ADMIN_TOKEN": AdminFixture.adminToken])
    }

    /// The line in which a command names the gateway that responded.
    private static func answered(by admin: AdminFixture) -> String {
        "answered by a \(admin.kills.incarnation.rawValue.prefix(8)) at \(admin.caller.base)\n"
    }

    @Test func `an account gets tokens, is refreshed, shown and emptied`() async throws {
        try await AdminFixture.run { admin in
            let program = try Self.program(for: admin)
            let base = admin.caller.base

            let listed = try await program.run("accounts", "list", "--admin", base)
            #expect(listed.status == 0)
            #expect(
                listed.output == """
                    ACCOUNT  PROVIDER  STATE  TOKEN ENDS  LAST REFRESH  LAST ERROR
                    alice    acme      empty  -           -             -
                    bob      acme      empty  -           -             -

                    """
            )

            let imported = try await program.run(
                "accounts",
                "import",
                "alice",
                "--admin",
                base,
                input: #"{"refresh_token": "refresh-canary", "access_token": "access-canary", "expires_in": 7200}"#
            )
            #expect(imported.status == 0)
            #expect(imported.output == "imported tokens for alice; its access token ends in 2 h\n")
            #expect(imported.complaint == Self.answered(by: admin))

            admin.provider.answer(
                with: .success(
                    TokenGrant(accessToken: Secret("next-canary"), refreshToken: nil, lifetime: .seconds(3_600))
                )
            )
            let refreshed = try await program.run("accounts", "refresh", "alice", "--admin", base)
            #expect(refreshed.status == 0)
            #expect(refreshed.output.contains("state         valid\n"))
            #expect(refreshed.output.contains("generation    2\n"))

            let shown = try await program.run("accounts", "show", "alice", "--admin", base, "--json")
            #expect(shown.status == 0)
            #expect(shown.output == (try await admin.caller.send(.GET, "/v1/accounts/alice?unrevoked=true")).body)

            let status = try await program.run("status", "--admin", base)
            #expect(status.status == 0)
            #expect(status.output.hasPrefix("martlet    1.2.3, ready\n"))

            let removed = try await program.run("accounts", "remove", "alice", "--admin", base)
            #expect(removed.status == 0)
            #expect(
                removed.output.hasPrefix(
                    "TOKEN    AT THE PROVIDER  REASON  NEXT TRY  ENDS\nrefresh  revoked          -       -         -\n"
                )
            )

            for outcome in [listed, imported, refreshed, shown, status, removed] {
                #expect(!outcome.output.contains(AdminFixture.canary))
                #expect(!outcome.complaint.contains(AdminFixture.canary))
            }
        }
    }

    @Test func `an error about an unknown account suggests a similar name`() async throws {
        try await AdminFixture.run { admin in
            let program = try Self.program(for: admin)
            let near = try await program.run("accounts", "show", "alcie", "--admin", admin.caller.base)
            let far = try await program.run("accounts", "show", "zebra", "--admin", admin.caller.base)
            #expect(near.status == 64)
            #expect(near.complaint.contains("did you mean alice?"))
            #expect(far.status == 64)
            #expect(!far.complaint.contains("did you mean"))
        }
    }

    @Test(arguments: [
        (["accounts", "import", "alcie"], "alice"), (["accounts", "refresh", "alcie"], "alice"),
        (["kill", "--account", "alcie", "--reason", "drill"], "alice"),
        (["kill", "--provider", "acem", "--reason", "drill"], "acme"),
        (["revive", "--provider", "acem", "--reason", "over"], "acme"),
        (["revive", "--account", "alcie", "--reason", "over"], "alice"),
    ])
    func `errors of all other commands about an unknown name suggest a similar one`(
        arguments: [String],
        meant: String
    ) async throws {
        try await AdminFixture.run { admin in
            let program = try Self.program(for: admin)
            let outcome = try await program.run(arguments + ["--admin", admin.caller.base], input: "refresh-canary")
            #expect(outcome.status == 64)
            #expect(outcome.complaint.hasSuffix("; did you mean \(meant)?\n"))
        }
    }

    @Test func `a bare refresh token is imported from a file`() async throws {
        try await AdminFixture.run { admin in
            let program = try Self.program(for: admin)
            let file = try program.file("token", "refresh-canary\n")
            let imported = try await program.run(
                "accounts",
                "import",
                "bob",
                "--file",
                file,
                "--admin",
                admin.caller.base
            )
            #expect(imported.status == 0)
            #expect(imported.output == "imported tokens for bob; its first use fetches an access token\n")
            let record = try #require(try await admin.vault.read(AccountID("bob"))).record
            #expect(record.tokens?.refreshToken == Secret("refresh-canary"))
        }
    }

    @Test(arguments: [
        (["accounts", "show", "nobody"], "", 64, "neither the configuration nor the store"),
        (["accounts", "refresh", "alice"], "", 1, "account alice is not valid: empty"),
        (["accounts", "import", "alice"], "two canaries", 64, "the input is no token"),
        (["accounts", "import", "alice"], "\(AdminFixture.adminToken)\n", 64, "the input is the admin token"),
        (["accounts", "import", "alice"], #"{"access_token": "canary"}"#, 64, "has no refresh_token"),
        (["accounts", "import", "alice", "--file", "/no/such"], "", 64, "can't read /no/such: No such file"),
        (
            ["accounts", "import", "alice", "--config", "none.yaml", "--admin-token-file", "/no/such"], "", 77,
            "/no/such"
        ),
        (["health", "--config", "none.yaml"], "", 0, ""),
    ])
    func `a failure is reported in one line and an exit code`(
        arguments: [String],
        input: String,
        status: Int32,
        complaint: String
    ) async throws {
        try await AdminFixture.run { admin in
            let program = try Self.program(for: admin)
            let outcome = try await program.run(arguments + ["--admin", admin.caller.base], input: input)
            #expect(outcome.status == status)
            #expect(outcome.complaint.contains(complaint))
            #expect(outcome.complaint.split(separator: "\n").count == (status == 0 ? 0 : 1))
            #expect(!outcome.complaint.contains("canar"))
        }
    }

    @Test func `a wrong admin token and an absent gateway have different exit codes`() async throws {
        let program = try Program(environment: ["MARTLET_ADMIN_TOKEN": "wrong-canary"])
        _ = try await AdminFixture.address { base in
            let refused = try await program.run("status", "--admin", base)
            #expect(refused.status == 77)
            #expect(refused.complaint.hasPrefix("martlet: can't show the status: no valid admin token"))
            #expect(refused.complaint.contains("; the token sent is that of the variable MARTLET_ADMIN_TOKEN, "))
        }
        // The system never assigns this port. A port that was just released might already belong to another process.
        let gone = "http://127.0.0.1:1"
        let unreachable = try await program.run("status", "--admin", gone)
        #expect(unreachable.status == 69)
        #expect(
            unreachable.complaint == "martlet: can't reach the gateway at \(gone): Connection refused; "
                + "is it running? martlet serve starts it, --admin names another address\n"
        )
        #expect(try await program.run("health", "--admin", gone).status == 69)
    }

    @Test func `given an output that takes nothing, lost output is reported`() async throws {
        let program = try Program(environment: [:])
        let new = try await program.run(["callers", "new", "reports"], device: "/dev/full")
        #expect(new.status == 1)
        #expect(
            new.complaint
                == "martlet: the output can't be written: No space left on device; what it was to do is done\n"
        )
        #expect(try await program.run(["callers", "new", "reports"], device: "/dev/null").status == 0)
    }

    @Test func `a kill without a gateway says that nothing was killed and what to do`() async throws {
        let program = try Program(environment: ["MARTLET_ADMIN_TOKEN": AdminFixture.adminToken])
        let killed = try await program.run("kill", "--all", "--reason", "drill", "--admin", "http://127.0.0.1:1")
        #expect(killed.status == 69)
        #expect(killed.complaint.contains("Connection refused; nothing was killed: "))
        #expect(killed.complaint.contains("start one (martlet serve), or name another on that store with --admin"))
        #expect(killed.complaint.hasSuffix("and one that runs out of reach uses them until it is stopped\n"))
    }

    @Test func `an import with a wrong admin token is refused once`() async throws {
        try await AdminFixture.run { admin in
            let program = try Program(environment: ["MARTLET_ADMIN_TOKEN": "wrong-canary"])
            let refused = try await program.run(
                "accounts",
                "import",
                "alice",
                "--admin",
                admin.caller.base,
                input: "refresh-canary"
            )
            #expect(refused.status == 77)
            #expect(refused.complaint.hasPrefix("martlet: can't import tokens for alice: no valid admin token"))
            #expect(refused.complaint.hasSuffix(" with --admin-token-file\n"))
            #expect(refused.complaint.split(separator: "\n").count == 1)
            #expect(admin.logs.text.split(separator: "an admin request was refused").count == 2)
        }
    }

    @Test func `an account that nobody has used yet is not shown as expired`() async throws {
        try await AdminFixture.run(minting: "bob") { admin in
            let program = try Self.program(for: admin)
            let base = admin.caller.base
            _ = try await program.run("accounts", "import", "alice", "--admin", base, input: "refresh-canary")
            let shown = try await program.run("accounts", "show", "alice", "--admin", base)
            #expect(shown.output.contains("state         not fetched yet\n"))
            let status = try await program.run("status", "--admin", base)
            #expect(status.output.contains("acme      2         2 not fetched yet\n"))
            #expect(!status.output.contains("expired"))
        }
    }

    @Test func `health fails when the gateway is not ready`() async throws {
        try await AdminFixture.run { admin in
            let program = try Program()
            let ready = try await program.run("health", "--admin", admin.caller.base)
            #expect(ready.status == 0)
            #expect(ready.output == "ready\n")

            admin.monitor.change { $0.store.isOpen = false }

            let unready = try await program.run("health", "--admin", admin.caller.base)
            #expect(unready.status == 1)
            #expect(unready.complaint == "martlet: the gateway is not ready: store_open\n")

            admin.monitor.change { vitals in
                vitals.listeners[0].isBound = false
                vitals.isStopping = true
            }

            let stopping = try await program.run("health", "--admin", admin.caller.base)
            #expect(stopping.status == 1)
            #expect(
                stopping.complaint
                    == "martlet: the gateway is not ready: it is stopping, and ends when its last requests have\n"
            )
        }
    }

    @Test func `the configuration tells commands the address of the gateway and its token file`() async throws {
        try await AdminFixture.run { admin in
            let program = try Program()
            _ = try program.file("tokens", AdminFixture.adminToken)
            let configuration = try program.file(
                "some.yaml",
                """
                state_dir: .
                admin: { address: "\(admin.server.address)", token_file: tokens }
                providers: { acme: { token_endpoint: "https://login.acme.example/token", client_id: my-app } }
                accounts: { alice: { provider: acme } }
                routes: [{ name: acme, match: { path: / }, upstream: "http://127.0.0.1:1/", account: alice }]
                """
            )
            let listed = try await program.run("accounts", "list", "--config", configuration)
            #expect(listed.complaint == Self.answered(by: admin))
            #expect(listed.status == 0)
            let checked = try await program.run("check", "--config", configuration)
            #expect(checked.status == 0)
            #expect(checked.output.contains("admin on \(admin.server.address)"))
        }
    }

    @Test(arguments: [["health"], ["status"], ["accounts", "list"]])
    func `a configuration that would not start still tells commands where the running gateway is`(
        command: [String]
    ) async throws {
        try await AdminFixture.run { admin in
            let program = try Program()
            _ = try program.file("tokens", AdminFixture.adminToken)
            let configuration = try program.file(
                "some.yaml",
                """
                listeners: [{ address: 127.0.0.1:0, tls: { certificate: gone.pem, key: gone.key } }]
                state_dir: .
                admin: { address: "\(admin.server.address)", token_file: tokens }
                providers: { acme: { client_id: my-app, client_secret: { file: gone } } }
                """
            )
            let outcome = try await program.run(command + ["--config", configuration])
            // A health check prints only its result.
            #expect(outcome.complaint == (command == ["health"] ? "" : Self.answered(by: admin)))
            #expect(outcome.status == 0)
            #expect(try await program.run("check", "--config", configuration).status == 78)
        }
    }

    @Test func `check prints all faults`() async throws {
        let program = try Program()
        _ = try program.file("martlet.yaml", "acounts: {}\nproviders: 7\n")
        let checked = try await program.run("check")
        #expect(checked.status == 78)
        #expect(checked.output == "")
        #expect(checked.complaint.contains("martlet.yaml:1:1: acounts: unknown key, did you mean \"accounts\"?\n"))
        #expect(checked.complaint.split(separator: "\n").count >= 2)
    }

    @Test(arguments: [
        (["accounts", "import", "alice", "token-canary"], "tokens are not taken from the command line"),
        (["accounts", "import"], "name an account, or import many with --all, such as: martlet accounts import"),
        (["accounts", "import", "alice", "--existing", "skip"], "--existing goes with --all: "),
        (["accounts", "import", "--all", "--existing", "keep"], "The value 'keep' is invalid for '--existing"),
        (["accounts", "import", "--all", "a.jsonl", "alice"], "--all takes one file, whose lines name their accounts"),
        (["accounts", "import", "--all", "a.jsonl", "--file", "b.jsonl"], "--all takes one file, "),
        (["accounts", "list", "--limit", "0"], "--limit takes a number from 1 on"),
        (["accounts", "show"], "Missing expected argument '<name>'"),
        (["nothing"], "Unexpected argument 'nothing'"),
        (["status", "-x"], "Unknown option '-x'"),
        (["kill", "--all", "--reason", "drill", "--wait", "15"], "--wait takes a time with its unit"),
        (["kill", "--all", "--reason", "drill", "--wait", "301s"], "--wait takes a time with its unit"),
    ])
    func `invalid arguments are a usage error`(arguments: [String], complaint: String) async throws {
        let outcome = try await Program().run(arguments)
        #expect(outcome.status == 64)
        #expect(outcome.complaint.hasPrefix("martlet: \(complaint)"))
        #expect(outcome.complaint.hasSuffix("; see --help\n"))
        #expect(outcome.complaint.split(separator: "\n").count == 1)
        #expect(!outcome.complaint.contains(AdminFixture.canary))
    }

    @Test(arguments: [
        (["acounts"], "there is no command acounts; did you mean accounts?"),
        (["acounts", "import", "alice", "--file", "canary"], "there is no command acounts; did you mean accounts?"),
        (["stats", "--watch"], "there is no command stats; did you mean status?"),
        (["accounts", "improt", "alice"], "there is no command accounts improt; did you mean accounts import?"),
        (["replicas", "forgot", "web-3"], "there is no command replicas forgot; did you mean replicas forget?"),
        (["kills", "list"], "there is no command kills list; did you mean kills?"),
        (["audit", "show", "--last", "20"], "there is no command audit show; did you mean audit?"),
        (
            ["callers", "list"],
            "there is no command callers list; did you mean check, which shows the callers that the configuration names?"
        ),
    ])
    func `an error about a misspelt command suggests the right one`(
        arguments: [String],
        complaint: String
    ) async throws {
        let outcome = try await Program().run(arguments)
        #expect(outcome.status == 64)
        #expect(outcome.complaint == "martlet: \(complaint)\n")
    }

    @Test(
        arguments: [
            ([], "serve, check, login, accounts, "),
            (["accounts"], "list, show, export, import, refresh, remove or adopt; "),
            (["callers"], "new; "), (["store"], "verify, rekey, passphrase or copy; "),
        ] as [([String], String)]
    )
    func `a command that only has subcommands lists them`(arguments: [String], choice: String) async throws {
        let outcome = try await Program().run(arguments)
        let typed = (["martlet"] + arguments).joined(separator: " ")
        #expect(outcome.status == 64)
        #expect(outcome.output == "")
        #expect(outcome.complaint.hasPrefix("martlet: \(typed) takes a command: \(choice)"))
        #expect(outcome.complaint.hasSuffix("; see \(typed) --help\n"))
        #expect(outcome.complaint.split(separator: "\n").count == 1)
    }

    @Test(arguments: [
        [], ["accounts"], ["accounts", "list"], ["accounts", "show"], ["accounts", "import"], ["accounts", "refresh"],
        ["accounts", "remove"], ["status"], ["health"], ["check"], ["kill"], ["revive"],
    ])
    func `the help of each command has an example`(command: [String]) async throws {
        let help = try await Program().run(command + ["--help"])
        #expect(help.status == 0)
        #expect(help.output.contains("Example:"))
    }

    @Test(arguments: ["kill", "revive"])
    func `the help of the kill switch shows its usage`(command: String) async throws {
        let help = try await Program().run(command, "--help")
        let usage = "USAGE: martlet \(command) (--all | --provider <name> | --account <name>) --reason <text>"
        #expect(help.output.contains(usage))
        #expect(help.output.contains("martlet \(command) --account alice --reason "))
    }
}
