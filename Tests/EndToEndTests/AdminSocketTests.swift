import Foundation
import Glibc
import TestKit
import Testing

/// How commands find the gateway, and who may use its admin socket.
@Suite struct AdminSocketTests {
    private let directory: TemporaryDirectory

    init() throws {
        self.directory = try TemporaryDirectory()
    }

    /// Runs a command in the directory of the configuration, without options that name the gateway.
    private func martlet(_ arguments: String...) async throws -> Program.Outcome {
        try await Program.run("martlet", arguments, in: self.directory)
    }

    private func sockets() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: self.directory.path(of: "state"))
            .filter { $0.hasPrefix("admin.sock.") }
    }

    private func target() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: self.directory.path(of: "state/admin.sock"))
    }

    /// Writes the configuration with another address of the admin API.
    private func configure(_ old: String, as new: String, in file: String = "martlet.yaml") throws {
        let text = String(decoding: try #require(self.directory.bytes(of: "martlet.yaml")), as: UTF8.self)
        try #require(text.contains(old))
        try self.directory.write(Array(text.replacing(old, with: new).utf8), to: file)
    }

    @Test func `a command needs no token on the socket and says which gateway responded`() async throws {
        // Given a gateway whose admin token file is gone
        let mock = try await Mock(in: self.directory)
        let gateway = try await Gateway(mock, in: self.directory, more: "replica: { name: web-1 }")
        try self.directory.remove("state/admin.token")
        let path = self.directory.path(of: "state/\(try self.target())")
        #expect(try self.directory.mode(of: "state/\(try self.target())") == 0o600)
        // When somebody runs commands in the directory of its configuration
        for command in [["accounts", "list"], ["status"], ["kills"], ["replicas", "list"], ["audit"]] {
            let outcome = try await Program.run("martlet", command, in: self.directory)
            // Then they reach the gateway
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
            #expect(outcome.errors.hasPrefix("answered by web-1 "), "\(outcome.errors)")
            #expect(outcome.errors.hasSuffix(" at unix:\(path)\n"), "\(outcome.errors)")
        }
        // And output for programs has no such line
        for command in [["status", "--json"], ["health"]] {
            let outcome = try await Program.run("martlet", command, in: self.directory)
            #expect(outcome.exitCode == 0)
            #expect(outcome.errors == "")
        }
        // And a TCP port still requires a token
        let port = try await self.martlet("status", "--admin", gateway.admin, "--admin-token-file", "client-secret")
        #expect(port.exitCode == 77)
    }

    @Test func `a wrong token is refused on the socket too`() async throws {
        let mock = try await Mock(in: self.directory)
        let gateway = try await Gateway(mock, in: self.directory)
        let wrong = try await self.martlet("status", "--admin-token-file", "client-secret")
        #expect(wrong.exitCode == 77, "\(wrong.errors)")
        let right = try await self.martlet(
            "status",
            "--admin-token-file",
            self.directory.path(of: "state/admin.token")
        )
        #expect(right.exitCode == 0)
        withExtendedLifetime(gateway) {}
    }

    @Test func `a process that takes the port of a stopped gateway gets no token`() async throws {
        // Given a gateway that has stopped
        let mock = try await Mock(in: self.directory)
        let gateway = try await Gateway(mock, in: self.directory)
        gateway.program.signal(15)
        #expect(try await gateway.program.ended().exitCode == 0)
        #expect(try self.sockets() == [])
        // And another process that listens on its port
        let thief = try Listener()
        defer { thief.close() }
        try self.configure("admin: { address: 127.0.0.1:0 }", as: "admin: { address: 127.0.0.1:\(thief.port) }")
        // When a command runs
        let outcome = try await self.martlet("kill", "--all", "--reason", "drill")
        // Then it reports that the gateway is gone, and the other process receives nothing
        #expect(outcome.exitCode == 69)
        #expect(
            outcome.errors.contains("state/admin.sock: nobody listens there; nothing was killed"),
            "\(outcome.errors)"
        )
        #expect(!thief.hasVisitor)
    }

    @Test func `commands reach the latest gateway, and the remaining one when that stops`() async throws {
        let mock = try await Mock(in: self.directory)
        let first = try await Gateway(mock, in: self.directory, more: "replica: { name: web-1 }")
        let one = try self.target()
        let second = try await Gateway(mock, in: self.directory, more: "replica: { name: web-2 }")
        #expect(try self.sockets().count == 2)
        #expect(try await self.martlet("status").errors.hasPrefix("answered by web-2 "))

        second.program.signal(15)
        #expect(try await second.program.ended().exitCode == 0)
        #expect(try self.target() == one)
        #expect(try await self.martlet("status").errors.hasPrefix("answered by web-1 "))

        // The same holds when the latest is killed
        let third = try await Gateway(mock, in: self.directory, more: "replica: { name: web-3 }")
        #expect(try await self.martlet("status").errors.hasPrefix("answered by web-3 "))
        third.program.signal(9)
        _ = try await third.program.ended()
        #expect(try await self.martlet("status").errors.hasPrefix("answered by web-1 "))
        // The next gateway removes the socket that the killed one left
        let fourth = try await Gateway(mock, in: self.directory, more: "replica: { name: web-4 }")
        #expect(try self.sockets().count == 2)
        #expect(try await self.martlet("status").errors.hasPrefix("answered by web-4 "))
        withExtendedLifetime((first, fourth)) {}
    }

    @Test func `a gateway whose socket path is too long says so and is reached by its port`() async throws {
        let mock = try await Mock(in: self.directory)
        let long = String(repeating: "s", count: 108)
        try Gateway.configure(mock.address, in: self.directory)
        try self.configure("admin: { address: 127.0.0.1:0 }", as: "admin: { address: 127.0.0.1:0, socket: \(long) }")
        let program = try Program("martlet", ["serve", "--config", "martlet.yaml"], in: self.directory)
        let admin = try await program.address(behind: "admin: ")
        let port = admin.dropFirst("http://".count)
        try self.configure("address: 127.0.0.1:0, socket", as: "address: \(port), socket")
        let outcome = try await self.martlet("status")
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        #expect(outcome.errors.hasSuffix(" at \(admin)\n"), "\(outcome.errors)")
        try await eventually("a warning") { program.complaints.contains("there is no admin socket") }
        #expect(program.complaints.contains("the path is too long for a socket"))
    }

    @Test func `operators use TLS, and SIGHUP renews the certificate`() async throws {
        // Given a gateway with a certificate of its own
        let mock = try await Mock(in: self.directory)
        try CallerEncryptionTests.present(
            TestCertificates.selfSigned,
            TestCertificates.selfSignedKey,
            in: self.directory
        )
        try self.directory.write(Array(TestCertificates.selfSigned.utf8), to: "old.pem")
        try self.directory.write(Array(TestCertificates.authority.utf8), to: "new.pem")
        try Gateway.configure(mock.address, in: self.directory)
        try self.configure(
            "admin: { address: 127.0.0.1:0 }",
            as: "admin: { address: 127.0.0.1:0, tls: { certificate: cert.pem, key: key.pem } }"
        )
        let program = try Program("martlet", ["serve", "--config", "martlet.yaml"], in: self.directory)
        let admin = try await program.address(behind: "admin: ")
        try #require(admin.hasPrefix("https://"))
        let token = self.directory.path(of: "state/admin.token")
        func status(_ authorities: String...) async throws -> Program.Outcome {
            try await Program.run(
                "martlet",
                ["status", "--admin", admin, "--admin-token-file", token] + authorities,
                in: self.directory
            )
        }
        // Then commands that trust the certificate reach it
        #expect(try await status("--admin-ca", "old.pem").exitCode == 0)
        let stranger = try await status()
        #expect(stranger.exitCode == 69)
        #expect(stranger.errors.contains("not one that this host trusts"), "\(stranger.errors)")
        #expect(try await status("--admin-ca", "none.pem").exitCode == 64)
        // And no command reaches it in the clear
        let clear = try await self.martlet(
            "status",
            "--admin",
            admin.replacing("https", with: "http"),
            "--admin-token-file",
            token
        )
        #expect(clear.exitCode == 69)
        // When it gets another certificate
        try CallerEncryptionTests.present(TestCertificates.valid, TestCertificates.serverKey, in: self.directory)
        program.signal(1)
        try await eventually("the reload") { program.complaints.contains("admin certificate") }
        #expect(try await status("--admin-ca", "new.pem").exitCode == 0)
        #expect(try await status("--admin-ca", "old.pem").exitCode == 69)
        // And it serves a browser
        let page = try await Program.run(
            "/usr/bin/curl",
            [
                "-q", "--noproxy", "*", "-sS", "--cacert", "new.pem", "-o", "/dev/null", "-w", "%{http_code}",
                admin + "/",
            ],
            in: self.directory
        )
        #expect(page.output == "200", "\(page.errors)")
        program.signal(15)
        #expect(try await program.ended().exitCode == 0)
    }

    // MARK: - Others on this machine

    @Test func `a discovered configuration that names another machine is not followed`() async throws {
        let text = """
            state_dir: \(self.directory.path(of: "none"))
            admin: { address: 192.0.2.1:8081, allow_cleartext: true, token_file: ../tokens }
            """
        try self.directory.write(Array(text.utf8), to: "martlet.yaml")
        try self.directory.write(Array("canary-canary-canary".utf8), to: "tokens")
        try self.directory.setMode(0o600, of: "tokens")
        let outcome = try await self.martlet("status")
        #expect(outcome.exitCode == 78)
        #expect(outcome.errors.contains("192.0.2.1:8081, on another machine, and nobody has named that file"))
        #expect(outcome.errors.contains("nothing was sent"))
        #expect(!outcome.errors.contains("canary-canary"))
    }

    @Test(.enabled("needs root, and setpriv, to be somebody else") { Somebody.isAvailable }, arguments: [true, false])
    func `other users than the gateway's and root need a token`(isOpen: Bool) async throws {
        // Given a gateway in a directory that other users can enter, with a socket that is closed or open to them
        let mock = try await Mock(in: self.directory)
        let gateway = try await Gateway(mock, in: self.directory)
        try self.directory.setMode(0o755, of: "")
        try self.directory.setMode(0o755, of: "state")
        let path = self.directory.path(of: "state/admin.sock")
        if isOpen { try self.directory.setMode(0o666, of: "state/\(try self.target())") }
        let ask = [
            "/usr/bin/curl", "-q", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", path,
            "http://localhost/v1/accounts",
        ]
        // When another user asks
        let other = try await Program.run(Somebody.command[0], Somebody.arguments + ask, in: self.directory)
        // Then the kernel refuses them, or the gateway does if the mode allows them to connect
        #expect(other.output == (isOpen ? "401" : "000"), "\(other.errors)")
        let own = try await Program.run(ask[0], Array(ask.dropFirst()), in: self.directory)
        #expect(own.output == "200")
        withExtendedLifetime(gateway) {}
    }

    @Test(.enabled("needs root, and setpriv, to be somebody else") { Somebody.isAvailable })
    func `nothing is sent to a socket of another user`() async throws {
        // Given a directory in which another user has created a socket under the gateway's name
        let script = """
            import socket, sys
            s = socket.socket(socket.AF_UNIX); s.bind("admin.sock.abcdef"); s.listen()
            import os; os.symlink("admin.sock.abcdef", "admin.sock")
            print("ready", flush=True)
            c, _ = s.accept()
            while True:
                b = c.recv(4096)
                if not b: c, _ = s.accept(); continue
                print("heard", b, flush=True)
            """
        try self.directory.setMode(0o777, of: "")
        let thief = try Program(
            Somebody.command[0],
            Somebody.arguments + ["/usr/bin/python3", "-c", script],
            in: self.directory
        )
        try await eventually("the other to listen") {
            try #require(thief.isRunning, "\(thief.complaints)")
            return thief.written.contains("ready")
        }
        try self.directory.write(Array("canary-canary-canary".utf8), to: "tokens")
        try self.directory.setMode(0o600, of: "tokens")
        try self.directory.write(
            Array("state_dir: .\nadmin: { token_file: tokens, address: 127.0.0.1:1 }".utf8),
            to: "martlet.yaml"
        )
        // When a configuration leads a command there, either named by an option or discovered
        for arguments in [["--config", "martlet.yaml"], []] {
            let outcome = try await Program.run(
                "martlet",
                ["status", "--admin-token-file", "tokens"] + arguments,
                in: self.directory
            )
            #expect(outcome.exitCode == 77, "\(outcome.errors)")
            #expect(outcome.errors.contains("nothing was sent"), "\(outcome.errors)")
        }
        #expect(!thief.written.contains("heard"))
    }
}

/// Another user on this machine.
private enum Somebody {
    static let command = ["/usr/bin/setpriv", "--reuid", "1001", "--regid", "1001", "--clear-groups"]

    /// The arguments of ``command``.
    static var arguments: [String] { Array(self.command.dropFirst()) }

    static var isAvailable: Bool { geteuid() == 0 && FileManager.default.fileExists(atPath: self.command[0]) }
}

/// A TCP port of 127.0.0.1 that never responds.
private struct Listener {
    let port: UInt16
    private let descriptor: Int32

    init() throws {
        self.descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | O_NONBLOCK, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = self.descriptor
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(descriptor, address, length) == 0 && listen(descriptor, 8) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        try #require(isBound)
        self.port = UInt16(bigEndian: address.sin_port)
    }

    /// Whether a client has connected.
    var hasVisitor: Bool { accept(self.descriptor, nil, nil) >= 0 }

    func close() { _ = Glibc.close(self.descriptor) }
}
