import Settings
import Testing
import TokenModel

@Suite struct WebhookTests {
    private static let secrets = ["/etc/martlet/hook.key": "canary"]

    @Test func `events go to a URL, signed with a secret from a file`() throws {
        let file = SampleFile().adding("webhook: { url: https://ops.example/hook?x=y, secret: { file: hook.key } }")
        let settings = try settings(of: file.text, secrets: Self.secrets)
        #expect(settings.webhook?.url.text == "https://ops.example/hook?x=y")
        #expect(settings.webhook?.secret.value == Secret("canary"))
    }

    @Test func `without the webhook key, no events are sent`() throws {
        #expect(try settings(of: SampleFile().text).webhook == nil)
    }

    @Test(arguments: [
        ("webhook: {}", ["12:1: webhook: secret is missing", "12:1: webhook: url is missing"]),
        ("webhook: { url: https://ops.example/ }", ["12:1: webhook: secret is missing"]),
        ("webhook: { secret: { file: hook.key } }", ["12:1: webhook: url is missing"]),
        (
            "webhook: { url: ops.example, secret: { file: hook.key } }",
            ["12:17: webhook.url: expected a URL with https:// or http://"]
        ),
        (
            "webhook: { url: http://ops.example/, secret: { file: hook.key } }",
            [
                "12:17: webhook.url: events would travel unencrypted to ops.example: "
                    + "use https:// or add allow_cleartext: true"
            ]
        ),
        ("webhook: { url: http://ops.example/, secret: { file: hook.key }, allow_cleartext: true }", []),
        ("webhook: { url: http://127.0.0.1:9/, secret: { file: hook.key } }", []),
    ])
    func `a fault in the webhook is reported with its position`(line: String, expected: [String]) {
        #expect(faults(of: SampleFile().adding(line).text, secrets: Self.secrets) == expected)
    }

    @Test func `a secret in the configuration file is not shown`() {
        let file = SampleFile().adding("webhook: { url: https://ops.example/, secret: canary }")
        let lines = faults(of: file.text)
        #expect(lines.count == 1)
        #expect(lines.first?.contains("canary") == false)
    }

    @Test func `the summary names the host, and neither path nor secret`() throws {
        let file = SampleFile().adding(
            "webhook: { url: https://ops.example/services/canary?k=canary, secret: { file: hook.key } }"
        )
        let summary = SettingsSummary(try settings(of: file.text, secrets: Self.secrets)).description
        #expect(
            summary.contains(
                "events to https://ops.example:443, signed with the secret from file /etc/martlet/hook.key"
            )
        )
        #expect(!summary.contains("canary"))
    }
}
