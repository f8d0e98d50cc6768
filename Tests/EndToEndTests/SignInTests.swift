import Foundation
import TestKit
import Testing

/// Signing in, with real processes. `curl` is the browser.
@Suite struct SignInTests {
    /// A sign-in by `martlet login` that waits for a browser.
    private struct Waiting {
        let command: Program
        /// What is to be opened.
        let address: String

        init(_ gateway: Gateway, _ options: [String], in directory: TemporaryDirectory, marker: String) async throws {
            let command = try Program(
                "martlet",
                ["login", "alice"] + options + [
                    "--admin", gateway.admin, "--admin-token-file", directory.path(of: "state/admin.token"),
                ],
                in: directory
            )
            self.command = command
            try await eventually("the address to be printed") { Self.address(in: command, marker) != nil }
            self.address = try #require(Self.address(in: command, marker))
        }

        private static func address(in command: Program, _ marker: String) -> String? {
            command.complaints.split { " \n".contains($0) }.map(String.init)
                .last { $0.hasPrefix("http") && $0.contains(marker) }
        }

        /// Opens the address and follows all redirects.
        func open(_ options: String..., in directory: TemporaryDirectory) async throws -> String {
            let arguments = ["-q", "--noproxy", "*", "-sSL", "-w", " %{http_code} %{url_effective}"] + options
            return try await Program.run("/usr/bin/curl", arguments + [self.address], in: directory).output
        }
    }

    @Test func `somebody signs in by a browser on the machine of the command`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        let gateway = try await Gateway(mock, in: directory)

        let waiting = try await Waiting(gateway, ["--no-browser"], in: directory, marker: "/oauth/authorize")
        let page = try await waiting.open(in: directory)
        let outcome = try await waiting.command.ended()

        #expect(page.contains("Signed in") && page.contains(" 200 http://127.0.0.1:") && page.hasSuffix("/done"))
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        #expect(outcome.output.hasPrefix("alice: signed in; valid until"))
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
        #expect(try await mock.stats().token_requests.ok == 1)
    }

    @Test func `somebody signs in on another device`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let gateway = try await Gateway(mock, in: directory)

        let waiting = try await Waiting(gateway, ["--device"], in: directory, marker: "user_code=")
        #expect(try await waiting.open(in: directory).contains("approved"))

        #expect(try await waiting.command.ended().exitCode == 0)
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
    }

    @Test func `somebody signs in at the gateway's own listener`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let port = try LoopbackPort.free()
        let gateway = try await Gateway(
            mock,
            in: directory,
            more: "login: { address: 127.0.0.1:\(port), redirect_uri: \"http://127.0.0.1:\(port)/login/callback\" }"
        )

        // Without the cookie the answer is refused, and the sign-in waits.
        let waiting = try await Waiting(gateway, ["--gateway", "--no-browser"], in: directory, marker: "/login/start/")
        #expect(try await waiting.open(in: directory).contains(" 400 "))
        let jar = directory.path(of: "jar")
        let page = try await waiting.open("-c", jar, "-b", jar, "-H", "Sec-Fetch-Mode: navigate", in: directory)

        #expect(page.contains("Signed in") && page.contains(" 200 http://127.0.0.1:\(port)/login/done/"))
        #expect(try await waiting.command.ended().exitCode == 0)
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
        #expect(try await mock.stats().token_requests.ok == 1)
    }

    @Test func `a kill while somebody signs in holds, and nothing that was issued lives`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)

        let waiting = try await Waiting(gateway, ["--no-browser"], in: directory, marker: "/oauth/authorize")
        #expect(try await gateway.martlet("kill", "--account", "alice", "--reason", "drill").exitCode == 0)
        let page = try await waiting.open(in: directory)

        #expect(page.contains("Not signed in") && page.contains("killed"))
        #expect(try await waiting.command.ended().exitCode == 1)
        #expect(try await gateway.martlet("accounts", "show", "alice").output.contains("killed"))
        try await eventually("no token to live at the provider") {
            try await mock.stats().live.values.allSatisfy { $0.refresh == 0 && $0.access == 0 }
        }
        // The code was sent nowhere.
        #expect(try await mock.stats().token_requests.ok == 0)
    }
}
