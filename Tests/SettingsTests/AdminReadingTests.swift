import Settings
import SystemSupport
import TestKit
import Testing
import TokenModel

/// The part of the configuration that a command reads to talk to a running gateway.
@Suite struct AdminReadingTests {
    private func read(_ text: String, variables: [String: String] = ["HOME": "/h"]) throws -> AdminSettings {
        try SettingsReader(
            file: "martlet.yaml",
            surroundings: SettingsEnvironment(
                configurationDirectory: "/etc/martlet",
                variables: variables,
                readSecret: { _ throws(FileError) in Secret([] as [UInt8]) },
                checkReadable: { _ throws(FileError) in }
            )
        ).readAdmin(text)
    }

    private func faults(_ text: String, variables: [String: String] = ["HOME": "/h"]) throws -> [String] {
        let error = try #require(throws: SettingsError.self) { try self.read(text, variables: variables) }
        return error.faults.map(\.description)
    }

    /// A configuration that is wrong everywhere except in the part that a command reads.
    private static let wrong = """
        listeners: [{ address: 127.0.0.1:9081, tls: { certificate: none.pem, key: none.key } }]
        providers: { acme: { client_secret: { file: /none/secret }, timeuot: 3 } }
        accounts: 7
        routes: [{ upsteam: x }]
        callers: []
        lgo: {}
        lgo: {}
        store: { driver: postgres }
        """

    @Test func `faults elsewhere in the file are ignored`() throws {
        let admin = try self.read("admin: { address: 127.0.0.1:9081, token_file: t }\nstate_dir: state\n" + Self.wrong)
        #expect(admin.address.description == "127.0.0.1:9081")
        #expect(admin.tokenFile == "/etc/martlet/state/t")
        let standard = try self.read(Self.wrong)
        #expect(standard.address.description == "127.0.0.1:8081")
        #expect(standard.tokenFile == "/h/.local/state/martlet/admin.token")
        #expect(standard.socket == "/h/.local/state/martlet/admin.sock")
    }

    @Test(arguments: [
        ("0.0.0.0:9081", "127.0.0.1:9081"), ("[::]:9081", "[::1]:9081"), ("[0:0::0]:9081", "[::1]:9081"),
        ("10.0.0.1:9081", "10.0.0.1:9081"), ("127.0.0.2:9081", "127.0.0.2:9081"), ("[::1]:9081", "[::1]:9081"),
    ])
    func `an address that listens everywhere is reached over loopback`(address: String, fromHere: String) throws {
        let admin = try self.read("admin: { address: '\(address)', allow_cleartext: true }")
        #expect(admin.address.fromHere.description == fromHere)
    }

    @Test(arguments: [
        ("admin: { address: nowhere }", ["1:19: admin.address: "]),
        (
            "admin: { adress: 127.0.0.1:1, token_file: 7 }\nstate_dir: []",
            ["1:10: admin.adress: ", "2:12: state_dir: "]
        ),
        ("amdin: { address: 127.0.0.1:1 }", ["1:1: amdin: unknown key, did you mean \"admin\"?"]),
        ("statedir: /s", ["1:1: statedir: unknown key, did you mean \"state_dir\"?"]),
        ("admin: { address: 10.0.0.1:1 }", ["1:19: admin.address: must be a loopback address"]),
        ("admin: { tls: { certificate: c.pem } }", ["1:10: admin.tls: key is missing"]),
        (
            "admin: { tls: { certificate: c.pem, key: k.pem, client_ca: x } }",
            ["1:49: admin.tls.client_ca: unknown key"]
        ),
    ])
    func `faults in the admin part are reported all at once`(text: String, expected: [String]) throws {
        let faults = try self.faults(text + "\n" + Self.wrong)
        #expect(faults.count == expected.count, "\(faults)")
        for (fault, start) in zip(faults, expected) { #expect(fault.hasPrefix("martlet.yaml:" + start)) }
    }

    @Test func `the socket is in the state directory by default`() throws {
        #expect(try self.read("state_dir: /s\nadmin: { socket: a.sock }").socket == "/s/a.sock")
        #expect(try self.read("state_dir: /s\nadmin: { socket: /run/a.sock }").socket == "/run/a.sock")
    }

    @Test func `with TLS, the admin address may be reachable from other machines`() throws {
        let admin = try self.read("admin: { address: 10.0.0.1:1, tls: { certificate: c.pem, key: k.pem } }")
        #expect(admin.address.description == "10.0.0.1:1")
        #expect(admin.tls?.certificate == "/etc/martlet/c.pem")
    }

    @Test func `a missing state directory or an unusable file is one fault`() throws {
        #expect(try self.faults(Self.wrong, variables: [:]).count == 1)
        #expect(try self.faults("").count == 1)
        #expect(try self.faults("[]").count == 1)
        #expect(try self.faults("a: [").count == 1)
    }
}
