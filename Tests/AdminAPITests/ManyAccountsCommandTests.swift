internal import Foundation
internal import NIOHTTP1
internal import TestKit
internal import Testing

/// `martlet accounts list`, `export` and `import --all` with a gateway that has many accounts.
@Suite struct ManyAccountsCommandTests {
    private static func program() throws -> Program {
        try Program(environment: ["MARTLET_ADMIN_TOKEN": "admin-canary"])
    }

    private static func page(_ names: [String], next: String?) -> String {
        let accounts = names.map { name in
            """
            {"configured":true,"expires_at":null,"generation":1,"last_error":null,"last_refresh_at":null,"name":"\(name)",\
            "provider":"acme","scopes":[],"state":"empty","trouble":null}
            """
        }
        return #"{"accounts":[\#(accounts.joined(separator: ","))],"next":\#(next.map { "\"\($0)\"" } ?? "null")}"#
    }

    private static func line(_ account: String, token: String = "refresh-canary") -> String {
        #"{"account":"\#(account)","tokens":{"refresh_token":"\#(token)"}}"# + "\n"
    }

    // MARK: Listing

    @Test func `a list and an export follow the pages of the gateway`() async throws {
        try await StubGateway.run { gateway, base in
            gateway.respond(to: "/v1/accounts?prefix=c&state=empty", Self.page(["c1", "c2"], next: "c2"))
            gateway.respond(
                to: "/v1/accounts?prefix=c&state=empty&after=c2",
                Self.page(["c-with-a-long-name"], next: nil)
            )
            let filter = ["--prefix", "c", "--state", "empty", "--admin", base]

            let listed = try await Self.program().run(["accounts", "list"] + filter)
            #expect(listed.status == 0)
            #expect(
                listed.output == """
                    ACCOUNT  PROVIDER  STATE  TOKEN ENDS  LAST REFRESH  LAST ERROR
                    c1       acme      empty  -           -             -
                    c2       acme      empty  -           -             -
                    c-with-a-long-name  acme      empty  -           -             -

                    """
            )
            #expect(listed.complaint == "answered by stub at \(base)\n")

            let printed = try await Self.program().run(["accounts", "list", "--json"] + filter)
            let pages = [Self.page(["c1", "c2"], next: "c2"), Self.page(["c-with-a-long-name"], next: nil)]
            #expect(printed.output == pages.map { $0 + "\n" }.joined())

            let exported = try await Self.program().run(["accounts", "export"] + filter)
            #expect(exported.status == 0)
            let lines = ["c1", "c2", "c-with-a-long-name"].map {
                #"{"account":"\#($0)","expires_at":null,"provider":"acme","state":"empty"}"# + "\n"
            }
            #expect(exported.output == lines.joined())
        }
    }

    @Test func `a list says when nothing was found, and when its limit left accounts out`() async throws {
        try await StubGateway.run { gateway, base in
            gateway.respond(to: "/v1/accounts?provider=acme", Self.page([], next: nil))
            gateway.respond(to: "/v1/accounts?limit=1", Self.page(["c1"], next: "c1"))
            let none = try await Self.program().run("accounts", "list", "--provider", "acme", "--admin", base)
            #expect(none.output == "no account is like that\n")
            let one = try await Self.program().run("accounts", "list", "--limit", "1", "--admin", base)
            #expect(one.output.split(separator: "\n").count == 2)
            #expect(one.complaint.hasPrefix("there are more accounts than --limit lets through\n"))
        }
    }

    @Test func `a listing whose reader is gone asks for no more pages`() async throws {
        try await StubGateway.run { gateway, base in
            gateway.respond(to: "/v1/accounts", Self.page(["c1"], next: "c1"))
            gateway.respond(to: "/v1/accounts?after=c1", Self.page(["c2"], next: "c2"))
            // Given a reader that closes the pipe at once
            let program = try Self.program()
            let pipe = try program.pipe("out")
            let reader = unsafe open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            let process = try program.start(["accounts", "list", "--admin", base], input: "/dev/null", device: pipe)
            close(reader)
            // Then the command ends, and with success
            try await eventually("the command to end") { process.endedWith != nil }
            #expect(process.endedWith == 0)
            #expect(gateway.requests == ["GET /v1/accounts"])
        }
    }

    // MARK: Importing

    @Test func `results arrive while lines are still sent`() async throws {
        try await StubGateway.run { gateway, base in
            // Given a command whose input is a pipe
            let program = try Self.program()
            let pipe = try program.pipe("in")
            let writer = unsafe open(pipe, O_RDWR | O_CLOEXEC)
            let arguments = ["accounts", "import", "--all", "--json", "--admin", base]
            let process = try program.start(arguments, input: pipe)

            // When one line is in it, then its result is there before the next line is
            for number in 1...2 {
                let line = Array(Self.line("c\(number)").utf8)
                _ = unsafe line.withUnsafeBytes { unsafe write(writer, $0.baseAddress, $0.count) }
                try await eventually("the result of line \(number)") {
                    program.output.hasSuffix(#"{"line":\#(number),"account":"c\#(number)","result":"imported"}"# + "\n")
                }
                #expect(process.endedWith == nil)
            }

            // And the end of the input ends the command
            close(writer)
            try await eventually("the command to end") { process.endedWith != nil }
            #expect(process.endedWith == 0)
            #expect(
                program.output.hasSuffix("\"result\":\"imported\"}\n\(StubGateway.sums(imported: 2, refused: 0))\n")
            )
            #expect(gateway.requests == ["POST /v1/imports?existing=skip"])
            #expect(gateway.contentTypes == ["application/x-ndjson"])
        }
    }

    @Test func `ten thousand lines arrive unchanged, and refused ones are named`() async throws {
        try await StubGateway.run { gateway, base in
            let lines = (1...10_000).map { Self.line("c\($0)", token: $0 % 100 == 17 ? "bad" : "refresh-canary-\($0)") }
            let program = try Self.program()
            let file = try program.file("accounts.jsonl", lines.joined())
            let outcome = try await program.run(
                "accounts",
                "import",
                "--all",
                file,
                "--existing",
                "replace",
                "--admin",
                base
            )
            #expect(outcome.status == 1)
            #expect(outcome.output == "9,900 imported, 100 refused\n")
            let complaints = outcome.complaint.split(separator: "\n")
            #expect(complaints.first == "line 17: c17: that is no token")
            #expect(
                complaints.dropFirst(49) == [
                    "line 4917: c4917: that is no token", "and 50 more lines were refused",
                    "martlet: 100 of 10,000 lines were refused",
                ]
            )
            let isWhole = gateway.lines.map { $0 + "\n" } == lines
            #expect(isWhole)
            #expect(gateway.requests == ["POST /v1/imports?existing=replace"])
            #expect(!(outcome.output + outcome.complaint).contains("canary"))
        }
    }

    @Test func `given a gateway, the same import may be run again`() async throws {
        try await AdminFixture.run { admin in
            let program = try Program(environment: ["MARTLET_ADMIN_TOKEN": AdminFixture.adminToken])
            let arguments = ["accounts", "import", "--all", "--admin", admin.caller.base]
            let input = "\n" + Self.line("alice") + Self.line("nobody") + Self.line("bob", token: "other-canary")
            for results in ["2 imported, 1 refused\n", "0 imported, 2 skipped, 1 refused\n"] {
                let outcome = try await program.run(arguments, input: input)
                #expect(outcome.status == 1)
                #expect(outcome.output == results)
                #expect(outcome.complaint.hasPrefix("line 3: "))
                #expect(outcome.complaint.hasSuffix("martlet: 1 of 3 lines were refused\n"))
                #expect(!(outcome.output + outcome.complaint).contains(AdminFixture.canary))
            }
        }
    }

    @Test(arguments: [
        ("skip", "run it again: accounts that have tokens are skipped"),
        ("replace", "run it again: tokens that were imported before are skipped"),
        ("fail", "run it again with --existing skip, which skips accounts that have tokens"),
    ])
    func `a connection that breaks is told of with the number of results, and with what is safe to do`(
        existing: String,
        help: String
    ) async throws {
        try await StubGateway.run { gateway, base in
            let program = try Self.program()
            let input = (1...5).map { Self.line("c\($0)") }.joined()
            let arguments = ["accounts", "import", "--all", "--existing", existing, "--admin", base]
            gateway.setCourse(.init(stallsAfter: 3))
            let process = try program.start(arguments + ["--json"], input: program.file("lines", input))
            // A result that is still on its way when the connection breaks may be lost with it.
            try await eventually("three results") { program.output.split(separator: "\n").count == 3 }
            gateway.hangUp()
            let broken = try await program.outcome(of: process)
            #expect(broken.status == 69)
            #expect(broken.complaint.hasPrefix("martlet: the connection to the gateway at \(base) broke"))
            #expect(broken.complaint.hasSuffix("; results came for 3 lines, and more may be done; \(help)\n"))

            gateway.setCourse(.init(isComplete: false))
            let early = try await program.run(arguments, input: input)
            #expect(early.status == 69)
            let complaint =
                "martlet: the gateway ended its response early; results came for 5 lines, and more may be done; "
            #expect(early.complaint == "\(complaint)\(help)\n")
        }
    }

    @Test func `a gateway that refuses the import is heard while the input is still open`() async throws {
        try await StubGateway.run { gateway, base in
            gateway.respond(
                to: "/v1/imports?existing=skip",
                #"{"type":"urn:martlet:error:locked","title":"t","status":503,"detail":"the gateway is locked"}"#,
                .serviceUnavailable
            )
            let outcome = try await Self.program().run(
                ["accounts", "import", "--all", "--admin", base],
                input: Self.line("c1")
            )
            #expect(outcome.status == 1)
            #expect(outcome.complaint == "martlet: can't import tokens for many accounts: the gateway is locked\n")
        }
    }

    @Test func `a missing file, an empty one and a missing gateway are errors that say so`() async throws {
        try await StubGateway.run { gateway, base in
            let program = try Self.program()
            let missing = try await program.run("accounts", "import", "--all", "customer-1", "--admin", base)
            #expect(missing.status == 64)
            #expect(
                missing.complaint.contains("can't read customer-1: No such file or directory; --all takes a file whose")
            )
            #expect(gateway.requests.isEmpty)
            let empty = try await program.run("accounts", "import", "--all", "--admin", base)
            #expect(empty.status == 64)
            #expect(empty.complaint.hasSuffix("martlet: the input has no lines: nothing was imported\n"))
            let nobody = try await program.run("accounts", "import", "--all", "--admin", "http://127.0.0.1:1")
            #expect(nobody.status == 69)
            #expect(nobody.complaint.contains("Connection refused; is it running?"))
            #expect(!nobody.complaint.contains("run it again"))
        }
    }
}
