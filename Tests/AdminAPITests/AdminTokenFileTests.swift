internal import AdminAPI
internal import Foundation
internal import TestKit
internal import Testing
internal import TokenModel

@Suite struct AdminTokenFileTests {
    @Test func `the first start creates the file for its owner only, and later starts read it`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path(of: "admin.token")

        let made = try AdminTokenFile(path: path).open()

        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.hasSuffix("\n"))
        let token = text.dropLast()
        // 32 bytes in base64url have 43 characters.
        #expect(token.utf8.count == 43)
        #expect(token.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
        #expect(made.contain(Secret(String(token))))
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["admin.token"])
        #expect(try AdminTokenFile(path: path).open() == made)
        #expect(try AdminTokenFile(path: path).read() == made)
    }

    @Test func `several processes that create the file at once all get the same token`() async throws {
        let directory = try TemporaryDirectory()
        let file = AdminTokenFile(path: directory.path(of: "admin.token"))
        let all = try await withThrowingTaskGroup(of: AdminTokens.self) { group in
            for _ in 0..<16 { group.addTask { try file.open() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let first = try #require(all.first)
        #expect(all.allSatisfy { $0 == first })
    }

    @Test func `two files hold different tokens`() throws {
        let directory = try TemporaryDirectory()
        let first = try AdminTokenFile(path: directory.path(of: "a")).open()
        #expect(try AdminTokenFile(path: directory.path(of: "b")).open() != first)
    }

    // The shortest tokens that are allowed.
    @Test(arguments: [
        "first-0123456789\nother-0123456789\n", "first-0123456789\r\nother-0123456789",
        "\n\nfirst-0123456789\n\n\nother-0123456789\n",
    ])
    func `each line is a token`(text: String) throws {
        let directory = try TemporaryDirectory()
        let path = try Self.file(text, mode: 0o600, in: directory)
        let tokens = try AdminTokenFile(path: path).read()
        #expect(tokens == AdminTokens([Secret("first-0123456789"), Secret("other-0123456789")]))
    }

    @Test func `a line may name the administrator of its token and their role`() throws {
        let directory = try TemporaryDirectory()
        let text = """
            olga operator first-0123456789
            kim\t killer  other-0123456789
            Vera.2_x-y viewer third-0123456789
            olga operator spare-0123456789
            rita registrar:customer-* sixth-0123456789
            plain-0123456789
            """
        let tokens = try AdminTokenFile(path: try Self.file(text, mode: 0o600, in: directory)).read()
        let found = ["first", "other", "third", "spare", "sixth", "plain"].map {
            tokens.administrator(presenting: Secret("\($0)-0123456789"))
        }
        #expect(found.map { $0?.name } == ["olga", "kim", "Vera.2_x-y", "olga", "rita", "admin"])
        let family = try #require(AdministratorRole("registrar:customer-*"))
        #expect(found.map { $0?.role } == [.operator, .killer, .viewer, .operator, family, .operator])
        for word in ["olga", "operator", "olga operator first-0123456789", ""] {
            #expect(!tokens.contain(Secret(word)))
        }
    }

    @Test(arguments: [
        (
            "olga operator first-canary-0123\nkim boss other-canary-0123\n", 2,
            "the second word is no role: operator, killer, viewer, registrar:ACCOUNTS are"
        ),
        ("first-canary-0123 operator olga\n", 1, "an admin token has at least 16 characters"),
        ("kim Killer other-canary-0123\n", 1, "the second word is no role"),
        ("o/ga operator first-canary-0123\n", 1, "an administrator's name has 1 to 64"),
        ("olga first-canary-0123\n", 1, "the line is neither a token nor a name, a role and a token"),
        ("olga operator first-canary-0123 more\n", 1, "the line is neither"),
        ("olga operator brief\n", 1, "an admin token has at least 16 characters"),
        (
            "olga operator first-canary-0123\nolga viewer other-canary-0123\n", 2,
            "olga has another role in a line before"
        ),
        ("rita registrar first-canary-0123\n", 1, "the second word is no role"),
        (
            "rita registrar:a* first-canary-0123\nrita registrar:b* other-canary-0123\n", 2,
            "rita has another role in a line before"
        ),
        ("admin viewer first-canary-0123\n", 1, "the name admin is that of a token without one"),
        ("other-canary-0123\nadmin killer first-canary-0123\n", 2, "the name admin is that of a token without one"),
        (
            "olga operator first-canary-0123\nkim operator first-canary-0123\n", 2,
            "the token is already used by another administrator"
        ),
    ])
    func `a line with a wrong name or role is refused by its number, without words that may be tokens`(
        text: String,
        line: Int,
        fault: String
    ) throws {
        let directory = try TemporaryDirectory()
        let path = try Self.file(text, mode: 0o600, in: directory)
        let error = #expect(throws: AdminTokenError.self) { try AdminTokenFile(path: path).open() }
        #expect(error?.message.hasPrefix("\(path):\(line): \(fault)") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("canary") == false)
    }

    @Test(arguments: [
        ("abc\n", 1), ("fifteen-letters", 1), ("first-0123456789\n\nbrief\n", 3),
        ("first-0123456789\r\nbrief\r\nother-0123456789\r\n", 2),
    ])
    func `a guessable token is refused by its line number, without its text or length`(
        text: String,
        line: Int
    ) throws {
        let directory = try TemporaryDirectory()
        let path = try Self.file(text, mode: 0o600, in: directory)
        let error = #expect(throws: AdminTokenError(.guessable, "")) { try AdminTokenFile(path: path).open() }
        let message = try #require(error?.message)
        let fault = "an admin token has at least 16 characters, and this one is shorter: write one"
        #expect(message.hasPrefix("\(path):\(line): \(fault)"))
        for token in text.split(whereSeparator: \.isNewline) {
            #expect(!message.dropFirst(path.count).contains(token))
        }
    }

    @Test(arguments: [
        "", "\n\n", "two words of a line\n", "with-a-tab\tin-the-line\n", "caf\u{e9}-0123456789-0123\n",
        "with-a-nul\0-in-the-line\n",
    ])
    func `a file without tokens or with invalid lines is refused`(text: String) throws {
        let directory = try TemporaryDirectory()
        let path = try Self.file(text, mode: 0o600, in: directory)
        #expect(throws: AdminTokenError(.malformed, "")) { try AdminTokenFile(path: path).open() }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    @Test(arguments: [0o640, 0o604, 0o620, 0o602, 0o666])
    func `a file of this user that others can read or write is refused`(mode: Int) throws {
        let directory = try TemporaryDirectory()
        let path = try Self.file("admin-token-canary\n", mode: mode, in: directory)
        let error = #expect(throws: AdminTokenError(.exposed, "")) { try AdminTokenFile(path: path).open() }
        #expect(error?.message.contains("\(path) can be read or written by others") == true)
        #expect(error?.message.contains("canary") == false)
    }

    @Test func `a missing file is an error for a reader, and a missing directory always is`() throws {
        let directory = try TemporaryDirectory()
        let missing = AdminTokenFile(path: directory.path(of: "admin.token"))
        #expect(throws: AdminTokenError(.inaccessible, "")) { try missing.read() }
        let nowhere = AdminTokenFile(path: directory.path(of: "none/admin.token"))
        #expect(throws: AdminTokenError(.inaccessible, "")) { try nowhere.open() }
        let notAFile = AdminTokenFile(path: directory.path)
        #expect(throws: AdminTokenError(.inaccessible, "")) { try notAFile.open() }
    }

    @Test(
        arguments: [
            ("brief\n", 0o600, .guessable), ("two words of a line\n", 0o600, .malformed), ("", 0o600, .malformed),
            ("first-0123456789\n", 0o644, .exposed),
        ] as [(String, Int, AdminTokenError.Code)]
    )
    func `a check refuses the same files as a start`(text: String, mode: Int, code: AdminTokenError.Code) throws {
        let directory = try TemporaryDirectory()
        let file = AdminTokenFile(path: try Self.file(text, mode: mode, in: directory))
        #expect(throws: AdminTokenError(code, "")) { try file.check() }
        #expect(throws: AdminTokenError(code, "")) { try file.open() }
    }

    @Test func `a broken symbolic link is refused by a check and by a start`() throws {
        // Given a symbolic link to a missing file
        let directory = try TemporaryDirectory()
        let file = AdminTokenFile(path: directory.path(of: "admin.token"))
        try FileManager.default.createSymbolicLink(
            atPath: directory.path(of: "admin.token"),
            withDestinationPath: directory.path(of: "gone")
        )

        // When it is checked, and opened
        let checked = #expect(throws: AdminTokenError(.inaccessible, "")) { try file.check() }
        let opened = #expect(throws: AdminTokenError(.inaccessible, "")) { try file.open() }

        // Then both report the same fault, and no file is created
        #expect(checked?.message.contains("/admin.token is a symbolic link that leads nowhere") == true)
        #expect(opened?.message == checked?.message)
        #expect(try directory.contents() == ["admin.token"])
    }

    @Test func `a check creates nothing`() throws {
        let directory = try TemporaryDirectory()
        try AdminTokenFile(path: directory.path(of: "admin.token")).check()
        try AdminTokenFile(path: directory.path(of: "none/admin.token")).check()
        #expect(try directory.contents() == [])
    }

    private static func file(_ text: String, mode: Int, in directory: TemporaryDirectory) throws -> String {
        let path = directory.path(of: "admin.token")
        #expect(FileManager.default.createFile(atPath: path, contents: Data(text.utf8)))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }
}
