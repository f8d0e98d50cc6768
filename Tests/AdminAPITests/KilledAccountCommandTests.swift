internal import NIOHTTP1
internal import TestKit
internal import Testing

/// What commands say of an account that the kill switch holds.
@Suite struct KilledAccountCommandTests {
    @Test(arguments: [
        (#"{"all":true}"#, "--all"), (#"{"provider":"acme"}"#, "--provider acme"),
        (#"{"account":"alice"}"#, "--account alice"),
    ])
    func `the revival that is needed is named by each`(scope: String, option: String) async throws {
        try await AdminFixture.run { admin in
            // Given a kill that holds an account, and one that does not
            for scope in [scope, #"{"account":"bob"}"#] {
                let order = #"{"scope":\#(scope),"reason":"drill"}"#
                #expect(try await admin.caller.send(.POST, "/v1/kill", order).status == 200)
            }
            let program = try Program(environment: ["MARTLET_ADMIN_TOKEN": AdminFixture.adminToken])
            let base = admin.caller.base
            let lift = "martlet revive \(option) --reason TEXT lifts that"

            // When it is shown, refreshed and given tokens
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

            // Then each says what lifts that kill, and no other
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
