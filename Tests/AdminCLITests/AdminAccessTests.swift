internal import AdminCLI
internal import Synchronization
internal import Testing
internal import TokenModel

@Suite struct AdminAccessTests {
    private static func access(
        address: String? = nil,
        tokenFile: String? = nil,
        configuration: String? = nil,
        needsToken: Bool = true,
        prefersPort: Bool = false,
        environment: [String: String] = ["HOME": "/home/u"],
        files: [String: String] = [:],
        configured: [String: CommandEnvironment.Configured] = [:],
        sockets: [String: CommandEnvironment.Socket] = [:]
    ) throws(CommandFailure) -> AdminAccess {
        try AdminAccess(
            address: address,
            tokenFile: tokenFile,
            configuration: configuration,
            needsToken: needsToken,
            prefersPort: prefersPort,
            surroundings: CommandEnvironment(
                environment: environment,
                exists: { configured[$0] != nil || files[$0] != nil },
                configuration: { path, isFound throws(CommandFailure) in
                    guard let configured = configured[path] else {
                        throw CommandFailure(.badConfiguration, "no \(path)")
                    }
                    return CommandEnvironment.Configured(
                        address: configured.address,
                        isLoopback: configured.isLoopback,
                        isEncrypted: configured.isEncrypted,
                        tokenFile: configured.tokenFile,
                        socket: configured.socket,
                        isFound: isFound
                    )
                },
                socket: { link, isFound throws(CommandFailure) in
                    if isFound, link.hasPrefix("/foreign/") { throw CommandFailure(.notAllowed, "foreign") }
                    return sockets[link]
                },
                text: { path throws(CommandFailure) in
                    guard let text = files[path] else { throw CommandFailure(.notAllowed, "no \(path)") }
                    return text
                }
            )
        )
    }

    @Test func `without options the defaults of a gateway apply`() throws {
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
    func `the configuration names the gateway's address`(path: String?, environment: [String: String]) throws {
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

    @Test func `without --config the configuration in this directory applies`() throws {
        let access = try Self.access(
            files: ["/var/t": "one"],
            configured: ["martlet.yaml": .init(address: "127.0.0.1:9081", tokenFile: "/var/t")]
        )
        #expect(access.address == "http://127.0.0.1:9081")
        #expect(try access.authorization() == "Bearer one")
    }

    @Test func `options take precedence, and then no configuration is needed`() throws {
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

    @Test func `only the token that is sent is recognized as the gateway's`() throws {
        let access = try Self.access(address: "http://h", tokenFile: "t", files: ["t": "one\ntwo\n"])
        #expect(access.isOpened(by: Secret("one")))
        #expect(!access.isOpened(by: Secret("two")))
        let closed = try Self.access(address: "http://h", needsToken: false)
        #expect(!closed.isOpened(by: Secret("one")))
    }

    @Test(arguments: [
        ("kim killer one\nolga operator two\nthree\n", "two"), ("kim killer one\nthree\n", "three"),
        ("vera viewer one\nkim killer two\n", "one"),
    ])
    func `of several tokens the first operator's is sent, or else the first`(text: String, token: String) throws {
        let access = try Self.access(address: "http://h", tokenFile: "t", files: ["t": text])
        #expect(try access.authorization() == "Bearer \(token)")
        let variable = try Self.access(address: "http://h", environment: ["MARTLET_ADMIN_TOKEN": text])
        #expect(try variable.authorization() == "Bearer \(token)")
    }

    @Test func `a command that needs no token does not look for one`() throws {
        let access = try Self.access(address: "http://127.0.0.1:9081", needsToken: false, environment: [:])
        #expect(access.tokenOrigin == nil)
        let failure = #expect(throws: CommandFailure.self) { try access.authorization() }
        #expect(failure?.status == .notAllowed)
    }

    @Test(arguments: [
        ("http://127.0.0.1:1", false), ("http://127.9.9.9", false), ("http://localhost:1", false),
        ("http://[::1]:1", false), ("https://gateway.example", false), ("http://gateway.example", true),
        ("http://10.0.0.1:8081", true), ("http://[2001:db8::1]", true), ("http://127.evil.example", true),
        ("http://127.0.0.1.evil.example:8081", true), ("http://localhost.evil.example", true),
    ])
    func `a token that leaves the machine in the clear is detected`(address: String, isShown: Bool) throws {
        let access = try Self.access(address: address, tokenFile: "t", files: ["t": "one"])
        #expect(access.sendsTokenInCleartext == isShown)
    }

    @Test(arguments: [
        "", "127.0.0.1:8081", "ftp://127.0.0.1", "http://", "http://h/v1", "http://h/?q", "http://u:p@h", "http://h#f",
        "http://h:0", "http://h:65536", "http://h:99999999999999999999", "http://h:", "http://[::1]:99999",
    ])
    func `an invalid address is refused`(address: String) {
        let failure = #expect(throws: CommandFailure.self) {
            try Self.access(address: address, tokenFile: "t", files: ["t": "one"])
        }
        #expect(failure?.status == .usage)
    }

    @Test(arguments: ["", "\n", "two canaries", "caf\u{e9}-canary"])
    func `a token file without a token is refused`(text: String) {
        let failure = #expect(throws: CommandFailure.self) {
            try Self.access(address: "http://h", tokenFile: "t", files: ["t": text])
        }
        #expect(failure?.status == .notAllowed)
        #expect(failure?.message.contains("canar") == false)
    }

    @Test func `a faulty configuration and a missing token file have different exit codes`() {
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

    // MARK: - A discovered configuration

    @Test func `a discovered configuration leads to this machine only`() throws {
        let elsewhere = CommandEnvironment.Configured(address: "10.0.0.1:8081", isLoopback: false, tokenFile: "/var/t")
        // Given a directory whose martlet.yaml names another machine
        let failure = #expect(throws: CommandFailure.self) {
            try Self.access(files: ["/var/t": "canary"], configured: ["martlet.yaml": elsewhere])
        }
        // Then nothing is sent there
        #expect(failure?.status == .badConfiguration)
        #expect(failure?.message.contains("10.0.0.1:8081, on another machine, and nobody has named that file") == true)
        #expect(failure?.message.contains("canary") == false)
        // A configuration that is named explicitly is followed
        for environment in [["HOME": "/home/u"], ["MARTLET_CONFIG": "martlet.yaml"]] {
            let named = try Self.access(
                configuration: environment["MARTLET_CONFIG"] == nil ? "martlet.yaml" : nil,
                environment: environment,
                files: ["/var/t": "one"],
                configured: ["martlet.yaml": elsewhere]
            )
            #expect(named.address == "http://10.0.0.1:8081")
        }
    }

    @Test func `a discovered configuration does not lead to a socket in another user's directory`() throws {
        let foreign = CommandEnvironment.Configured(
            address: "127.0.0.1:8081",
            tokenFile: "/var/t",
            socket: "/foreign/admin.sock"
        )
        let sockets = ["/foreign/admin.sock": CommandEnvironment.Socket(path: "/foreign/s", owners: [7])]
        #expect(throws: CommandFailure(.notAllowed, "foreign")) {
            try Self.access(files: ["/var/t": "one"], configured: ["martlet.yaml": foreign], sockets: sockets)
        }
        let named = try Self.access(configuration: "f", configured: ["f": foreign], sockets: sockets)
        #expect(named.address == "unix:/foreign/s")
    }

    // MARK: - The gateway's socket

    private static let here = CommandEnvironment.Configured(
        address: "127.0.0.1:8081",
        isEncrypted: true,
        tokenFile: "/s/t",
        socket: "/s/admin.sock"
    )
    private static let socket = CommandEnvironment.Socket(path: "/s/admin.sock.abcdef", owners: [7])

    @Test func `the socket takes precedence over the port, and needs no token`() throws {
        let access = try Self.access(
            configuration: "f",
            files: ["/s/t": "canary"],
            configured: ["f": Self.here],
            sockets: ["/s/admin.sock": Self.socket]
        )
        #expect(access.address == "unix:/s/admin.sock.abcdef")
        #expect(access.socket == Self.socket)
        #expect(try access.authorization() == nil)
        #expect(access.tokenOrigin == nil)
        // The gateway's token is still recognized, so that it is not imported as an account's token.
        #expect(access.isOpened(by: Secret("canary")))
    }

    @Test func `a command that waits finds the socket of a gateway that has started again`() throws {
        let current = Mutex("/s/admin.sock.first")
        let surroundings = CommandEnvironment(
            environment: [:],
            exists: { _ in true },
            configuration: { _, _ throws(CommandFailure) in Self.here },
            socket: { _, _ throws(CommandFailure) in
                let path = current.withLock { $0 }
                return path.isEmpty ? nil : CommandEnvironment.Socket(path: path, owners: [7])
            },
            text: { _ throws(CommandFailure) in "canary" }
        )
        let access = try AdminAccess(
            address: nil,
            tokenFile: nil,
            configuration: "f",
            needsToken: true,
            surroundings: surroundings
        )
        #expect(access.address == "unix:/s/admin.sock.first")

        // While there is none it is the old one, so that the message names a place.
        current.withLock { $0 = "" }
        #expect(access.address == "unix:/s/admin.sock.first")
        current.withLock { $0 = "/s/admin.sock.second" }
        #expect(access.address == "unix:/s/admin.sock.second")
        #expect(try access.authorization() == nil)
    }

    @Test func `a token that is named explicitly is also sent to the socket`() throws {
        let file = try Self.access(
            tokenFile: "t",
            configuration: "f",
            files: ["t": "one"],
            configured: ["f": Self.here],
            sockets: ["/s/admin.sock": Self.socket]
        )
        #expect(file.socket == Self.socket)
        #expect(try file.authorization() == "Bearer one")
        let variable = try Self.access(
            configuration: "f",
            environment: ["MARTLET_ADMIN_TOKEN": "two"],
            configured: ["f": Self.here],
            sockets: ["/s/admin.sock": Self.socket]
        )
        #expect(try variable.authorization() == "Bearer two")
    }

    @Test func `an address on the command line takes precedence over the socket`() throws {
        let access = try Self.access(
            address: "http://127.0.0.1:1",
            configuration: "f",
            files: ["/s/t": "one"],
            configured: ["f": Self.here],
            sockets: ["/s/admin.sock": Self.socket]
        )
        #expect(access.socket == nil)
        #expect(access.address == "http://127.0.0.1:1")
        #expect(try access.authorization() == "Bearer one")
    }

    @Test func `without a socket the port is used, with TLS if configured`() throws {
        let access = try Self.access(configuration: "f", files: ["/s/t": "one"], configured: ["f": Self.here])
        #expect(access.address == "https://127.0.0.1:8081")
        #expect(try access.authorization() == "Bearer one")
    }

    @Test func `health uses the port because the socket may be another process's, or else the socket`() throws {
        // Given a gateway with both a port and a socket
        let sockets = ["/s/admin.sock": Self.socket]
        func access(_ configured: CommandEnvironment.Configured) throws -> AdminAccess {
            try Self.access(
                configuration: "f",
                needsToken: false,
                prefersPort: true,
                configured: ["f": configured],
                sockets: sockets
            )
        }
        typealias Configured = CommandEnvironment.Configured
        let (token, socket) = ("/s/t", "/s/admin.sock")

        // Then the port is used
        let plain = try access(Configured(address: "127.0.0.1:8081", tokenFile: token, socket: socket))
        #expect(plain.socket == nil && plain.address == "http://127.0.0.1:8081")
        // But the socket is used if the port is unknown or has TLS
        for configured in [
            Configured(address: "127.0.0.1:0", tokenFile: token, socket: socket),
            Configured(address: "127.0.0.1:8081", isEncrypted: true, tokenFile: token, socket: socket),
        ] {
            #expect(try access(configured).socket == Self.socket)
        }
    }

    @Test func `without a configuration the socket is in the default state directory`() throws {
        let access = try Self.access(sockets: ["/home/u/.local/state/martlet/admin.sock": Self.socket])
        #expect(access.socket == Self.socket)
        let nowhere = try Self.access(address: nil, needsToken: false, environment: [:])
        #expect(nowhere.address == "http://127.0.0.1:8081")
    }
}
