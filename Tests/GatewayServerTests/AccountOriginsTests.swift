import GatewayServer
import Settings
import Testing
import TokenModel

/// Accounts that would get tokens from another issuer than since the start.
@Suite struct AccountOriginsTests {
    private func settings(_ accounts: [String: String]) throws -> GatewaySettings {
        let members = accounts.sorted { $0.key < $1.key }.map { "\"\($0.key)\": { provider: \($0.value) }" }
        let surroundings = SettingsEnvironment(configurationDirectory: "/nowhere", variables: [:])
        return try SettingsReader(file: "martlet.yaml", surroundings: surroundings).read(
            """
            state_dir: /nowhere
            providers:
              here: { issuer: "https://here.example", client_id: app }
              twin: { issuer: "https://here.example", client_id: other }
              there: { issuer: "https://there.example", client_id: app }
            routes: []
            accounts: { \(members.joined(separator: ", ")) }
            """
        )
    }

    @Test(
        arguments: [
            (["alice": "here"], ["alice": "here"], []),
            (["alice": "here"], ["alice": "twin"], []),
            (["alice": "here"], ["alice": "there"], ["alice"]),
            (["alice": "here"], ["bob": "there"], []),
            (["c-*": "here"], ["c-*": "there"], ["c-*"]),
            (["c-*": "here", "c-eu-*": "there"], ["c-*": "here", "c-eu-*": "there"], []),
            (["c-*": "here"], ["c-*": "here", "c-eu-*": "there"], ["c-eu-*"]),
            (["c-*": "here"], ["c-*": "here", "c-eu-*": "twin"], []),
            (["c-*": "here", "c-eu-*": "there"], ["c-*": "here"], ["c-eu-*"]),
            (["c-*": "here"], ["c-*": "here", "c-1": "there"], ["c-1"]),
            (["c-*": "here", "c-1": "there"], ["c-*": "here"], ["c-1"]),
            (["c-eu-*": "here"], ["c-*": "there"], ["c-eu-*"]),
            (["c-eu-*": "here"], ["c-*": "there", "c-eu-*": "here"], []),
        ] as [([String: String], [String: String], [String])]
    )
    func `an account moves with its name, its family or a family with a longer prefix`(
        old: [String: String],
        new: [String: String],
        moved: [String]
    ) throws {
        let origins = AccountOrigins(try self.settings(old))
        #expect(origins.moved(in: try self.settings(new)).map(\.description) == moved)
    }

    @Test func `the origin of a removed account is remembered`() throws {
        var origins = AccountOrigins(try self.settings(["alice": "here", "c-*": "here", "c-eu-*": "there"]))
        origins.add(try self.settings(["d-*": "there"]))
        origins.add(try self.settings([:]))
        let moved = origins.moved(
            in: try self.settings(["alice": "there", "c-*": "here", "c-1": "there", "c-eu-1": "there", "d-*": "here"])
        )
        #expect(moved.map(\.description) == ["alice", "c-1", "c-eu-*", "d-*"])
    }
}
