import Settings
import Testing

/// Where a store's sealing keys come from.
@Suite struct SealingKeyTests {
    private func key(_ form: String) throws -> SealingKeySettings? {
        try settings(of: SampleFile().adding("store: { sealing_key: \(form) }").text).store.sealingKey
    }

    @Test(arguments: [
        ("{ command: [pass, show, martlet] }", SealingKeySettings.command(["pass", "show", "martlet"])),
        ("{ command: [/usr/bin/vault] }", .command(["/usr/bin/vault"])),
        ("{ command: [./key.sh, ./key] }", .command(["/etc/martlet/key.sh", "./key"])),
        ("{ command: [pass, \"\", 07] }", .command(["pass", "", "07"])),
        ("{ credential: martlet-key }", .credential("martlet-key")),
        ("{ passphrase: true }", .passphrase),
        ("{ file: s.key }", .file("/home/me/.local/state/martlet/s.key")),
    ])
    func `each form names an origin`(form: String, key: SealingKeySettings) throws {
        #expect(try self.key(form) == key)
    }

    @Test(arguments: [
        (
            "{ command: pass show martlet }",
            "12:34: store.sealing_key.command: expected a list of a program and its arguments, such as [pass, show, martlet], "
                + "since no shell reads it, found text"
        ),
        (
            "{ command: [] }",
            "12:34: store.sealing_key.command: is empty, expected a program and its arguments"
        ),
        ("{ command: [\"\"] }", "12:35: store.sealing_key.command[0]: is empty"),
        ("{ command: [pass, [show]] }", "12:41: store.sealing_key.command[1]: expected text, found a list"),
        (
            "{ command: [pass, \"a\\0b\"] }",
            "12:41: store.sealing_key.command[1]: holds a line break or another control character"
        ),
        (
            "{ credential: /run/key }",
            "12:37: store.sealing_key.credential: must be the name of a credential in the service's unit, not a path"
        ),
        (
            "{ credential: .. }",
            "12:37: store.sealing_key.credential: must be the name of a credential in the service's unit, not a path"
        ),
        ("{ credential: \"\" }", "12:37: store.sealing_key.credential: is empty"),
        (
            "{ passphrase: false }",
            "12:37: store.sealing_key.passphrase: must be true; to have no passphrase, name another form of sealing_key"
        ),
        ("{ passphrase: canary }", "12:37: store.sealing_key.passphrase: expected true or false, found text"),
        ("{ file: a, passphrase: true }", "12:23: store.sealing_key: has file and passphrase, expected one of them"),
        ("{ env: A, command: [b] }", "12:23: store.sealing_key: has env and command, expected one of them"),
        ("{}", "12:10: store.sealing_key: file or env is missing, or another form of a sealing key"),
        (
            "canary",
            "12:23: store.sealing_key: a key must not be written in this file; expected { file: PATH } or { env: NAME }"
        ),
    ])
    func `a form that names no origin is a fault`(form: String, fault: String) {
        let found = faults(of: SampleFile().adding("store: { sealing_key: \(form) }").text)
        #expect(found == [fault])
        #expect(!found.description.contains("canary"))
    }

    @Test func `an unknown form is not repeated, since it may be the key`() {
        let found = faults(of: SampleFile().adding("store: { sealing_key: { canary } }").text)
        #expect(found.last?.contains("unknown key, there are file, env, command, credential, passphrase") == true)
        #expect(!found.description.contains("canary"))
    }

    @Test(arguments: [
        ("{ command: [pass, show, canary] }", "sealed with the key that the command pass prints"),
        ("{ credential: martlet-key }", "sealed with the key in the credential martlet-key"),
        ("{ passphrase: true }", "sealed with a key that a passphrase opens, so the gateway starts locked"),
    ])
    func `the summary names the origin, and not a command's arguments`(form: String, text: String) throws {
        let file = SampleFile().adding("store: { path: /t.db, sealing_key: \(form) }")
        let lines = SettingsSummary(try settings(of: file.text)).lines
        #expect(lines.contains("store sqlite at /t.db, \(text)"))
        #expect(!lines.joined().contains("canary"))
    }

    @Test func `a store that replicas share may have its key from any origin`() throws {
        for form in ["{ command: [pass] }", "{ credential: k }", "{ passphrase: true }"] {
            let store = "store: { driver: postgres, url: \"postgres://m@db/t\", sealing_key: \(form) }"
            #expect(faults(of: SampleFile().adding(store).text) == [])
        }
    }

    @Test func `a command gets no secret of the gateway, and nothing that is for the service alone`() throws {
        let secrets = ["A", "B", "C", "MARTLET_ADMIN_TOKEN", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID"]
        let others = ["HOME": "/home/me", "PATH": "/bin", "CREDENTIALS_DIRECTORY": "/run", "D": "other"]
        let environment = others.merging(secrets.map { ($0, "canary") }) { $1 }
        let file = SampleFile()
            .provider("client_secret: [{ env: A }]")
            .adding("webhook: { url: \"https://hook.example/\", secret: { env: B } }")
            .adding(
                "store: { driver: postgres, url: \"postgres://m@db/t\", password: { env: C }, sealing_key: { command: [pass] } }"
            )

        let settings = try settings(of: file.text, variables: environment)

        #expect(settings.variablesOfCommand(environment) == others)
    }
}
