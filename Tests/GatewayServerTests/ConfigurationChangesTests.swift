import GatewayServer
import Settings
import Testing
import TokenModel

@Suite struct ConfigurationChangesTests {
    private static let text = """
        state_dir: /nowhere
        providers:
          acme: { issuer: "https://login.acme.example", client_id: app }
        accounts:
          alice: { provider: acme }
        routes:
          - { name: acme, match: { path: /acme/ }, upstream: "https://api.acme.example/", account: alice }
        callers:
          - { name: reports, key_sha256: \(String(repeating: "0a", count: 32)) }
        """

    private func settings(_ change: (String) -> String = { $0 }) throws -> GatewaySettings {
        let surroundings = SettingsEnvironment(configurationDirectory: "/nowhere", variables: [:])
        return try SettingsReader(file: "martlet.yaml", surroundings: surroundings).read(change(Self.text))
    }

    private func parts(_ change: (String) -> String) throws -> [String] {
        ConfigurationChanges(from: try self.settings(), to: try self.settings(change)).parts
    }

    @Test func `the same file again changes nothing`() throws {
        #expect(try self.parts { $0 } == [])
        #expect(try self.parts { "# a comment\n" + $0 } == [])
    }

    @Test func `each part is named with its kind of change`() throws {
        let parts = try self.parts { text in
            text.replacing(
                "  alice: { provider: acme }",
                with: "  alice: { provider: acme }\n  bob: { provider: acme }"
            )
            .replacing("client_id: app }", with: "client_id: other }")
            .replacing("name: acme,", with: "name: renamed,")
            .replacing("0a0a", with: "0b0b") + "\nlimits: { waiters: 7 }\nlog: { access: false }"
                + "\nrequire_approval: { accounts: [alice] }"
        }
        #expect(
            parts == [
                "provider acme changed", "account bob added", "route renamed added", "route acme removed",
                "caller reports changed", "require_approval", "limits", "log",
            ]
        )
    }

    @Test func `families are named too`() throws {
        let before = try self.settings { $0.replacing("alice: {", with: "\"a-*\": { provider: acme }\n  alice: {") }
        let after = try self.settings {
            $0.replacing(
                "alice: {",
                with: "\"a-*\": { provider: acme, max: 7 }\n  \"b-*\": { provider: acme }\n  alice: {"
            )
        }
        #expect(ConfigurationChanges(from: before, to: after).parts == ["family a-* changed", "family b-* added"])
        #expect(ConfigurationChanges(from: before, to: try self.settings()).parts == ["family a-* removed"])
    }

    @Test func `a provider whose sign-ins ask for something else has changed`() throws {
        let parts = try self.parts { text in
            text.replacing("client_id: app }", with: "client_id: app, login: { prompt: consent } }")
        }
        #expect(parts == ["provider acme changed"])
    }

    @Test func `a provider whose secret files have changed has changed`() throws {
        let settings = try self.settings()
        let changes = ConfigurationChanges(from: settings, to: settings, providers: [ProviderID("acme")])
        #expect(changes.parts == ["provider acme changed"])
    }
}
