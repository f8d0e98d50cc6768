internal import AdminCLI
internal import Foundation
internal import TestKit
internal import Testing
internal import TokenModel

@Suite struct BrowserProcessTests {
    private let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    /// A program that writes its arguments and variables to a file, and ends with `status`.
    private func browser(_ status: Int) throws -> BrowserProgram {
        let path = self.directory.path(of: "browser")
        let seen = self.directory.path(of: "seen")
        let script = """
            #!/bin/sh
            { printf '%s\\n' "$@"; env; } > \(seen).part
            echo noise; echo noise >&2
            mv \(seen).part \(seen)
            exit \(status)
            """
        try Data(script.utf8).write(to: URL(filePath: path))
        try self.directory.setMode(0o700, of: "browser")
        let machine = LoginSurroundings(
            environment: ["BROWSER": "\(path) --new"],
            exists: { _ in false },
            isExecutable: { $0 == path }
        )
        return try #require(BrowserProgram.find(in: machine))
    }

    @Test func `a browser gets the address as one word, and no admin token`() async throws {
        let address = try #require(OpenableAddress("https://id.example/?a=b&c=$(id);'x'"))
        let environment = ["PATH": "/usr/bin:/bin", "MARTLET_ADMIN_TOKEN": "canary", "DISPLAY": ":0"]
        let process = try #require(BrowserProcess(try self.browser(0), opening: address, environment: environment))
        #expect(await process.fails(within: .seconds(60), clock: .system) == false)
        let seen = try String(contentsOfFile: self.directory.path(of: "seen"), encoding: .utf8)
        #expect(seen.hasPrefix("--new\nhttps://id.example/?a=b&c=$(id);'x'\n"))
        #expect(seen.contains("\nDISPLAY=:0\n"))
        #expect(!seen.contains("canary"))
    }

    @Test func `a program that opens nothing is noticed`() async throws {
        let address = try #require(OpenableAddress("https://id.example/"))
        let process = try #require(BrowserProcess(try self.browser(3), opening: address))
        #expect(await process.fails(within: .seconds(60), clock: .system))
    }
}
