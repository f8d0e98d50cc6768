internal import Testing
internal import TokenModel
internal import martlet

@Suite struct AdminAccessTests {
    private static func access(
        address: String? = nil,
        tokenFile: String? = nil,
        configuration: String? = nil,
        needsToken: Bool = true,
        environment: [String: String] = ["HOME": "/home/u"],
        files: [String: String] = [:],
        configured: [String: AdminSurroundings.Configured] = [:]
    ) throws(CommandFailure) -> AdminAccess {
        try AdminAccess(
            address: address,
            tokenFile: tokenFile,
            configuration: configuration,
            needsToken: needsToken,
            surroundings: AdminSurroundings(
                environment: environment,
                exists: { configured[$0] != nil || files[$0] != nil },
                configuration: { path throws(CommandFailure) in
                    guard let configured = configured[path] else {
                        throw CommandFailure(.badConfiguration, "no \(path)")
                    }
                    return configured
                },
                text: { path throws(CommandFailure) in
                    guard let text = files[path] else { throw CommandFailure(.notAllowed, "no \(path)") }
                    return text
                }
            )
        )
    }

    @Test func `without anything said the defaults of a gateway count`() throws {
        let access = try Self.access(files: ["/home/u/.local/state/martlet/admin.token": "one\ntwo\n"])
        #expect(access.address == "http://127.0.0.1:8081")
        #expect(try access.authorization() == "Bearer one")
        #expect(access.tokenOrigin == "/home/u/.local/state/martlet/admin.token")
        let state = try Self.access(
            environment: ["HOME": "/home/u", "XDG_STATE_HOME": "/state"],
            files: ["/state/martlet/admin.token": "three"]
        )
        #expect(try state.authorization() == "Bearer three")
    }

    @Test(arguments: [
        ("given.yaml", ["HOME": "/h"]), (nil, ["MARTLET_CONFIG": "given.yaml"]),
        ("given.yaml", ["MARTLET_CONFIG": "other.yaml"]),
    ])
    func `the configuration says where the gateway is`(path: String?, environment: [String: String]) throws {
        let access = try Self.access(
            configuration: path,
            environment: environment,
            files: ["/var/t": "\r\none\r\n"],
            configured: [
                "given.yaml": .init(address: "[::1]:9081", tokenFile: "/var/t"),
                "martlet.yaml": .init(address: "127.0.0.1:1", tokenFile: "/none"),
            ]
        )
        #expect(access.address == "http://[::1]:9081")
        #expect(try access.authorization() == "Bearer one")
        #expect(access.tokenOrigin == "/var/t")
    }

    @Test func `the configuration that a gateway here would read counts where none is named`() throws {
        let access = try Self.access(
            files: ["/var/t": "one"],
            configured: ["martlet.yaml": .init(address: "127.0.0.1:9081", tokenFile: "/var/t")]
        )
        #expect(access.address == "http://127.0.0.1:9081")
        #expect(try access.authorization() == "Bearer one")
    }

    @Test func `what is said on the command line counts most, and then no configuration is needed`() throws {
        let access = try Self.access(
            address: "https://gateway.example:8443/",
            tokenFile: "t",
            configuration: "broken.yaml",
            environment: ["MARTLET_ADMIN_TOKEN": "two"],
            files: ["t": "one"]
        )
        #expect(access.address == "https://gateway.example:8443")
        #expect(try access.authorization() == "Bearer one")
        #expect(access.tokenOrigin == "t")
        let variable = try Self.access(
            address: "http://127.0.0.1:9081",
            configuration: "broken.yaml",
            environment: ["MARTLET_ADMIN_TOKEN": "two"]
        )
        #expect(try variable.authorization() == "Bearer two")
        #expect(variable.tokenOrigin == "MARTLET_ADMIN_TOKEN")
    }

    @Test func `the token that opens the gateway is known again, and no other is taken for it`() throws {
        let access = try Self.access(address: "http://h", tokenFile: "t", files: ["t": "one\ntwo\n"])
        #expect(access.isOpened(by: Secret("one")))
        #expect(!access.isOpened(by: Secret("two")))
        let closed = try Self.access(address: "http://h", needsToken: false)
        #expect(!closed.isOpened(by: Secret("one")))
    }

    @Test func `where no token is needed none is looked for`() throws {
        let access = try Self.access(address: "http://127.0.0.1:9081", needsToken: false, environment: [:])
        #expect(access.tokenOrigin == nil)
        let failure = #expect(throws: CommandFailure.self) { try access.authorization() }
        #expect(failure?.status == .notAllowed)
    }

    @Test(arguments: [
        ("http://127.0.0.1:1", false), ("http://127.9.9.9", false), ("http://localhost:1", false),
        ("http://[::1]:1", false), ("https://gateway.example", false), ("http://gateway.example", true),
        ("http://10.0.0.1:8081", true), ("http://[2001:db8::1]", true),
    ])
    func `a token that leaves the machine in the clear is noticed`(address: String, isShown: Bool) throws {
        let access = try Self.access(address: address, tokenFile: "t", files: ["t": "one"])
        #expect(access.showsTokenOnTheWay == isShown)
    }

    @Test(arguments: [
        "", "127.0.0.1:8081", "ftp://127.0.0.1", "http://", "http://h/v1", "http://h/?q", "http://u:p@h", "http://h#f",
        "http://h:0", "http://h:65536", "http://h:99999999999999999999", "http://h:", "http://[::1]:99999",
    ])
    func `an address that is none is refused`(address: String) {
        let failure = #expect(throws: CommandFailure.self) {
            try Self.access(address: address, tokenFile: "t", files: ["t": "one"])
        }
        #expect(failure?.status == .usage)
    }

    @Test(arguments: ["", "\n", "two canaries", "caf\u{e9}-canary"])
    func `a token file without a token opens nothing`(text: String) {
        let failure = #expect(throws: CommandFailure.self) {
            try Self.access(address: "http://h", tokenFile: "t", files: ["t": text])
        }
        #expect(failure?.status == .notAllowed)
        #expect(failure?.message.contains("canar") == false)
    }

    @Test func `a configuration with faults and a missing token file are told apart`() {
        let configuration = #expect(throws: CommandFailure.self) { try Self.access(configuration: "none.yaml") }
        #expect(configuration?.status == .badConfiguration)
        let token = #expect(throws: CommandFailure.self) { try Self.access() }
        #expect(token?.status == .notAllowed)
        #expect(token?.message.hasPrefix("no martlet.yaml here, and no admin token at /home/u/") == true)
        #expect(token?.message.contains("--config FILE") == true)
        let unstarted = #expect(throws: CommandFailure.self) {
            try Self.access(configured: ["martlet.yaml": .init(address: "127.0.0.1:1", tokenFile: "/var/t")])
        }
        #expect(unstarted?.status == .notAllowed)
        #expect(unstarted?.message.contains("no admin token at /var/t, where martlet serve makes it") == true)
        let named = #expect(throws: CommandFailure.self) { try Self.access(address: "http://h", tokenFile: "t") }
        #expect(named?.message == "no t")
        let nowhere = #expect(throws: CommandFailure.self) { try Self.access(environment: [:]) }
        #expect(nowhere?.status == .notAllowed)
    }
}
