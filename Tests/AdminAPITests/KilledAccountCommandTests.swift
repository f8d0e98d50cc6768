internal import NIOHTTP1
internal import TestKit
internal import Testing

/// What commands print about a killed account.
@Suite struct KilledAccountCommandTests {
    @Test(arguments: [
        (#"{"all":true}"#, "--all"), (#"{"provider":"acme"}"#, "--provider acme"),
        (#"{"account":"alice"}"#, "--account alice"),
    ])
    func `each command names the revive command that lifts the kill`(scope: String, option: String) async throws {
        try await AdminFixture.run { admin in
            // Given a kill of the account, and one of another account
            for scope in [scope, #"{"account":"bob"}"#] {
                let order = #"{"scope":\#(scope),"reason":"drill"}"#
                #expect(try await admin.caller.send(.POST, "/v1/kill", order).status == 200)
            }
            let program = try Program(environment: ["MARTLET_ADMIN_TOKEN": AdminFixture.adminToken])
            let base = admin.caller.base
            let lift = "martlet revive \(option) --reason TEXT lifts that"

            // When the account is shown, refreshed and given tokens
            let shown = try await program.run("accounts", "show", "alice", "--admin", base)
            let refreshed = try await program.run("accounts", "refresh", "alice", "--admin", base)
            let imported = try await program.run(
                "accounts",
                "import",
                "alice",
                "--admin",
                base,
                input: "refresh-canary"
            )

            // Then each command names the revive for that kill only
            #expect(shown.status == 0)
            #expect(shown.output.contains("what helps    martlet kills shows why it is killed; \(lift)"))
            #expect(refreshed.status == 1)
            #expect(refreshed.complaint.contains("; martlet kills shows why it is killed; \(lift)"))
            #expect(imported.status == 1)
            let needs =
                "before tokens can come it takes martlet revive \(option) --reason TEXT; martlet kills shows the kill\n"
            #expect(imported.complaint.hasSuffix(needs), "\(imported.complaint)")
            for text in [shown.output, refreshed.complaint, imported.complaint] {
                #expect(!text.contains("--account bob"))
            }
        }
    }
}
