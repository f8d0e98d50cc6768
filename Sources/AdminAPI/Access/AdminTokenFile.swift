internal import LocalFiles
internal import TokenModel

/// The file with the admin tokens: one a line, of 16 characters or more, all of them valid.
package struct AdminTokenFile: Sendable {
    private let path: String

    /// Nothing is read or made yet.
    package init(path: String) {
        self.path = path
    }

    /// Reads the tokens; makes the file with a random one first where it is missing.
    ///
    /// The file is there whole or not at all, for its owner only. Of several processes that make it at once one does,
    /// and all read the same.
    package func open() throws(AdminTokenError) -> AdminTokens {
        if let tokens = try self.existing() { return tokens }
        do throws(SystemCallError) {
            _ = try WholeFile.create(at: self.path, holding: Self.randomLine())
        } catch {
            throw AdminTokenError(
                .inaccessible,
                "\(error.message): the admin token is made there at first start, in a directory this user can write"
            )
        }
        return try self.read()
    }

    /// Reads the tokens of a file that must be there.
    package func read() throws(AdminTokenError) -> AdminTokens {
        guard let tokens = try self.existing() else {
            throw AdminTokenError(.inaccessible, "there is no admin token file at \(self.path); a start makes one")
        }
        return tokens
    }

    /// Refuses what ``open()`` would refuse of a file that is there. Nothing is made.
    package func check() throws(AdminTokenError) { _ = try self.existing() }

    /// - Returns: `nil` where there is no file.
    private func existing() throws(AdminTokenError) -> AdminTokens? {
        guard let bytes = try self.contents() else { return nil }
        let lines = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        for line in lines {
            let number = 1 + bytes[..<line.startIndex].count { $0 == UInt8(ascii: "\n") }
            try self.check(line, at: number)
        }
        guard let tokens = AdminTokens(lines.map { Secret($0) }) else {
            throw AdminTokenError(
                .malformed,
                "\(self.path) holds no admin token; remove it and a start makes a new one"
            )
        }
        return tokens
    }

    /// In characters. Whoever tries tokens out is slowed down and not kept out, so none may be one that can be guessed.
    private static let shortest = 16

    private func check(_ token: ArraySlice<UInt8>, at line: Int) throws(AdminTokenError) {
        guard token.allSatisfy(TokenText.isTokenByte) else {
            throw AdminTokenError(
                .malformed,
                "\(self.path):\(line): the line is no admin token: one is printable ASCII without spaces, one a line"
            )
        }
        guard token.count >= Self.shortest else {
            throw AdminTokenError(
                .guessable,
                "\(self.path):\(line): an admin token has at least \(Self.shortest) characters, and this one is "
                    + "shorter: write one that nobody can guess, such as `openssl rand -hex 32` prints"
            )
        }
    }

    private func contents() throws(AdminTokenError) -> [UInt8]? {
        do throws(FileError) {
            return try SecretFile.contents(of: self.path)
        } catch {
            switch error.code {
            case .missing: return nil
            case .exposed: throw AdminTokenError(.exposed, "\(self.path) \(error.message): it holds admin tokens")
            case .tooLarge, .empty:
                throw AdminTokenError(.malformed, "\(self.path) is no file of admin tokens: it \(error.message)")
            case .unreadable:
                throw AdminTokenError(
                    .inaccessible,
                    "\(self.path) \(error.message): the admin tokens must be in a file this user can read"
                )
            }
        }
    }

    /// 256 random bits as text, and the end of the line.
    private static func randomLine() -> Secret {
        var generator = SystemRandomNumberGenerator()
        let drawn = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return Secret(Base64URL.encode(drawn) + [UInt8(ascii: "\n")])
    }
}
