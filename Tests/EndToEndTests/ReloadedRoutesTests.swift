import TestKit
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// A reload with other providers, accounts, routes and callers.
@Suite struct ReloadedRoutesTests {
    private let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    private func withGateway(
        listener: String = "127.0.0.1:0",
        more: String = "",
        _ test: (Gateway, Mock) async throws -> Void
    ) async throws {
        let mock = try await Mock(in: self.directory)
        let gateway = try await Gateway(mock, in: self.directory, listener: listener, more: more)
        try await gateway.importGrant(from: mock)
        try await test(gateway, mock)
        withExtendedLifetime(mock) {}
    }

    private func edit(_ change: (String) -> String) throws {
        let text = String(decoding: try #require(self.directory.bytes(of: "martlet.yaml")), as: UTF8.self)
        try self.directory.write(Array(change(text).utf8), to: "martlet.yaml")
    }

    private func status(_ gateway: Gateway, _ path: String, _ arguments: String...) async throws -> String {
        try await Program.run(
            "/usr/bin/curl",
            ["-q", "--noproxy", "*", "-s", "-o", "/dev/null", "-w", "%{http_code}", "\(gateway.callers)/\(path)"]
                + arguments,
            in: self.directory
        ).output
    }

    /// Adds a second account with its own route.
    private func addBob(_ mock: Mock, to text: String) -> String {
        text.replacing(
            "  alice: { provider: mock, grant: refresh_token }",
            with: "  alice: { provider: mock, grant: refresh_token }\n  bob: { provider: mock }"
        ) + "\n  - { name: new, match: { path: /new/ }, upstream: \"\(mock.address)/api/\", account: bob }\n"
    }

    @Test func `a new account and its route exist after a reload, and serve once tokens are imported`() async throws {
        try await self.withGateway { gateway, mock in
            try self.edit { self.addBob(mock, to: $0) }
            let line = try await gateway.reload()
            #expect(line.contains("account bob added, route new added"), "\(line)")
            #expect(try await self.status(gateway, "new/echo") == "503")

            let tokens = try await mock.grant("bob")
            #expect(try await gateway.martlet("accounts", "import", "bob", input: tokens).exitCode == 0)

            #expect(try await self.status(gateway, "new/echo") == "200")
            #expect(try await self.status(gateway, "acme/echo") == "200")
            let samples = try await gateway.samples()
            #expect(samples.contains(#"martlet_injections_total{route="new"} 1"#))
            #expect(samples.contains(#"martlet_accounts{provider="mock",state="valid"} 2"#))
        }
    }

    @Test func `an account that is removed during a request completes that response and serves no more requests`()
        async throws
    {
        try await self.withGateway { gateway, mock in
            // Given a second account, and a caller in the middle of a response that uses the first account
            try self.edit { self.addBob(mock, to: $0) }
            _ = try await gateway.reload()
            let caller = try Program(
                "/usr/bin/curl",
                ["-q", "--noproxy", "*", "-sSN", "\(gateway.callers)/acme/stream/4?every=500ms"],
                in: self.directory
            )
            try await eventually("the first event") { caller.written.contains("data:") }

            try self.edit { text in
                let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
                let route = lines.firstIndex { $0.contains("- name: acme") } ?? 0
                return (lines[..<route].filter { !$0.contains("alice:") } + lines[(route + 5)...]).joined(
                    separator: "\n"
                )
            }
            let line = try await gateway.reload()
            #expect(line.contains("account alice removed, route acme removed"), "\(line)")

            #expect(try await self.status(gateway, "acme/echo") == "404")
            let outcome = try await caller.ended()
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
            #expect(outcome.output.split(separator: "\n").count { $0.hasPrefix("data:") } == 4)
            // The store keeps the tokens of the removed account in case it comes back
            let status = try await gateway.martlet("accounts", "show", "alice", "--json").output
            #expect(status.contains("\"configured\":false") || status.contains("\"configured\" : false"), "\(status)")
            _ = mock
        }
    }

    @Test func `an invalid file changes nothing, not even in its valid parts`() async throws {
        try await self.withGateway { gateway, mock in
            try self.edit { self.addBob(mock, to: $0).replacing("strip: true", with: "strip: maybe") }
            _ = try await gateway.reload("config_invalid")
            #expect(try await self.status(gateway, "new/echo") == "404")
            #expect(try await self.status(gateway, "acme/echo") == "200")
        }
    }

    @Test func `a pipe in place of the file is refused at once, and the gateway continues`() async throws {
        try await self.withGateway { gateway, _ in
            let path = self.directory.path(of: "martlet.yaml")
            let text = try #require(self.directory.bytes(of: "martlet.yaml"))
            try #require(unsafe unlink(path) == 0 && mkfifo(path, 0o600) == 0)
            let line = try await gateway.reload("config_invalid")
            #expect(line.contains("is not a regular file"), "\(line)")
            try #require(unsafe unlink(path) == 0)
            try self.directory.write(text, to: "martlet.yaml")
            #expect(try await gateway.reload().contains("nothing"))
            #expect(try await self.status(gateway, "acme/echo") == "200")
        }
    }

    @Test func `a wrong client secret is corrected by a reload and tried at once`() async throws {
        let mock = try await Mock(in: self.directory)
        let gateway = try await Gateway(mock, grant: "client_credentials", in: self.directory)
        // Given a gateway whose provider is held because of a wrong secret
        try self.directory.write(Array("wrong-canary\n".utf8), to: "client-secret")
        #expect(try await gateway.reload().contains("provider mock changed"))
        #expect(try await self.status(gateway, "acme/echo") == "502")

        try self.directory.write(Array("mock-secret\n".utf8), to: "client-secret")
        #expect(try await gateway.reload().contains("provider mock changed"))

        #expect(try await self.status(gateway, "acme/echo") == "200")
        #expect(!gateway.program.complaints.contains("canary"))
        withExtendedLifetime(mock) {}
    }

    @Test func `I7_ an account stays with the issuer of its tokens`() async throws {
        try await self.withGateway { gateway, mock in
            let second = try await Mock(in: self.directory)
            try self.edit { $0.replacing("issuer: \(mock.address)", with: "issuer: \(second.address)") }
            #expect(try await gateway.reload("account_moved").contains("account alice"))
            #expect(try await self.status(gateway, "acme/echo") == "200")
            #expect(try await second.stats().token_requests.ok == 0)
        }
    }

    @Test func `I7_ an account that a reload has added stays with its issuer too`() async throws {
        try await self.withGateway { gateway, mock in
            let second = try await Mock(in: self.directory)
            // Given an account of another provider that has come with a reload
            let other = """
                providers:
                  other: { issuer: \(second.address), client_id: mock, client_secret: { file: client-secret } }

                """
            try self.edit {
                self.addBob(mock, to: $0).replacing("providers:\n", with: other)
                    .replacing("bob: { provider: mock }", with: "bob: { provider: other }")
            }
            #expect(try await gateway.reload().contains("account bob added"))

            // When the next one gives it to the first provider
            try self.edit { $0.replacing("bob: { provider: other }", with: "bob: { provider: mock }") }

            // Then it is refused
            #expect(try await gateway.reload("account_moved").contains("account bob"))
        }
    }

    @Test func `a reload adds and removes callers`() async throws {
        try await self.withGateway { gateway, _ in
            #expect(try await self.status(gateway, "acme/echo") == "200")
            let digest = try await Program.run(
                "/usr/bin/sha256sum",
                [],
                in: self.directory,
                input: "key-of-reports"
            ).output.prefix(64)
            try self.edit { $0 + "\ncallers: [{ name: reports, key_sha256: \(digest) }]\n" }
            #expect(try await gateway.reload().contains("caller reports added"))
            #expect(try await self.status(gateway, "acme/echo") == "401")
            #expect(try await self.status(gateway, "acme/echo", "-H", "Martlet-Key: key-of-reports") == "200")
            // Only users of this machine can connect, so the gateway may stop requiring keys
            try self.edit { $0.replacing("callers:", with: "# callers:") }
            #expect(try await gateway.reload().contains("caller reports removed"))
            try await eventually("the report") { gateway.program.complaints.contains("\"callers_removed\"") }
            #expect(try await self.status(gateway, "acme/echo") == "200")
        }
    }

    @Test func `keys remain required while others can connect`() async throws {
        let socket = self.directory.path(of: "m.sock")
        let digest = String(repeating: "0a", count: 32)
        let callers = "callers: [{ name: reports, key_sha256: \(digest) }]"
        try await self.withGateway(listener: "\"unix:\(socket)\"", more: callers) { gateway, _ in
            try self.edit { $0.replacing("callers:", with: "# callers:") }
            let line = try await gateway.reload("callers_needed")
            #expect(line.contains("unix:\(socket)"), "\(line)")
        }
    }

    @Test func `a reload changes the log level and the access log`() async throws {
        try await self.withGateway { gateway, _ in
            try self.edit { $0.replacing("log: { level: trace }", with: "log: { level: error, access: false }") }
            #expect(try await gateway.reload().contains("log"))
            let before = gateway.program.complaints.count
            #expect(try await self.status(gateway, "acme/echo") == "200")
            try self.edit { $0.replacing("log: { level: error, access: false }", with: "log: { level: info }") }
            #expect(try await gateway.reload().contains("log"))
            let lines = gateway.program.complaints.dropFirst(before)
            #expect(!lines.contains("\"level\":\"debug\"") && !lines.contains("\"message\":\"request\""), "\(lines)")
            #expect(try await self.status(gateway, "acme/echo") == "200")
            try await eventually("the access log") {
                gateway.program.complaints.dropFirst(before).contains("\"message\":\"request\"")
            }
        }
    }
}
