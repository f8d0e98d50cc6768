internal import SystemSupport
internal import TextCoding
package import TokenModel

/// The file with the admin tokens. Each line is an ``AdminTokenLine`` with a token of 16 characters or more.
package struct AdminTokenFile: Sendable {
    private let path: String
    private let stateDirectory: String?

    /// Reads and creates nothing yet.
    ///
    /// - Parameter stateDirectory: a file outside of it may belong to another user, who mounts it; `nil`: no file may.
    package init(path: String, stateDirectory: String? = nil) {
        self.path = path
        self.stateDirectory = stateDirectory
    }

    /// Reads the tokens. If the file is missing, it is first created with a random token.
    ///
    /// The file is created atomically, for its owner only. If several processes create it at once, exactly one
    /// succeeds, and all read the same file.
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

    /// Reads the tokens of a file that must exist.
    package func read() throws(AdminTokenError) -> AdminTokens {
        guard let tokens = try self.existing() else {
            throw AdminTokenError(.inaccessible, "there is no admin token file at \(self.path); a start makes one")
        }
        return tokens
    }

    /// Refuses an existing file that ``open()`` would refuse. Creates nothing.
    package func check() throws(AdminTokenError) { _ = try self.existing() }

    /// - Returns: `nil` if there is no file.
    private func existing() throws(AdminTokenError) -> AdminTokens? {
        guard let bytes = try self.contents() else { return nil }
        let lines = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        var entries: [AdminTokens.Entry] = []
        for line in lines {
            let number = 1 + bytes[..<line.startIndex].count { $0 == UInt8(ascii: "\n") }
            let entry = try self.read(line, at: number)
            try self.check(entry, at: number, behind: entries)
            entries.append(entry)
        }
        guard let tokens = AdminTokens(entries: entries) else {
            throw AdminTokenError(
                .malformed,
                "\(self.path) holds no admin token; remove it and a start makes a new one"
            )
        }
        return tokens
    }

    /// The minimum length of a token, in characters. Attempts to guess a token are slowed down but not prevented, so
    /// no token may be easy to guess.
    private static let shortest = 16

    private func read(_ line: ArraySlice<UInt8>, at number: Int) throws(AdminTokenError) -> AdminTokens.Entry {
        do throws(AdminTokenLine.Fault) {
            return try AdminTokenLine(line).entry
        } catch {
            throw AdminTokenError(.malformed, "\(self.path):\(number): \(error.message)")
        }
    }

    private func check(
        _ entry: AdminTokens.Entry,
        at line: Int,
        behind others: [AdminTokens.Entry]
    ) throws(AdminTokenError) {
        guard entry.token.count >= Self.shortest else {
            throw AdminTokenError(
                .guessable,
                "\(self.path):\(line): an admin token has at least \(Self.shortest) characters, and this one is "
                    + "shorter: write one that nobody can guess, such as `martlet admin new NAME --role ROLE` prints"
            )
        }
        let administrator = entry.administrator
        // Otherwise the audit log could not tell who acted, and the token's role would be ambiguous.
        guard !others.contains(where: { $0.token == entry.token && $0.administrator != administrator }) else {
            throw AdminTokenError(
                .malformed,
                "\(self.path):\(line): the token is already used by another administrator"
            )
        }
        let sameName = others.first { $0.administrator.name == administrator.name }
        guard sameName.map({ $0.administrator.role == administrator.role }) ?? true else {
            throw AdminTokenError(
                .malformed,
                "\(self.path):\(line): \(administrator.name) has another role in a line before"
            )
        }
    }

    private func contents() throws(AdminTokenError) -> [UInt8]? {
        do throws(FileError) {
            let isMounted = self.stateDirectory.map { SecretFile.isOutside(self.path, of: $0) } ?? false
            return try SecretFile.contents(of: self.path, mayBelongToOthers: isMounted)
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

    /// A line with a token of 256 random bits.
    private static func randomLine() -> Secret {
        var generator = SystemRandomNumberGenerator()
        let drawn = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return Secret(Base64.encodeURLSafe(drawn) + [UInt8(ascii: "\n")])
    }
}

/// The reason that the admin token file can't be used. Two errors are equal when their codes are equal.
package struct AdminTokenError: Error, Sendable {
    /// What went wrong, for programs.
    package enum Code: String, Sendable {
        /// The file can't be created or read.
        case inaccessible
        /// Other users can read, write or replace the file.
        case exposed
        /// The file holds no token, an invalid line, or lines that contradict each other.
        case malformed
        /// The file holds a token that is too short to withstand guessing.
        case guessable
    }

    package let code: Code
    /// For the operator: what failed, on what, and what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension AdminTokenError: Equatable {
    package static func == (left: AdminTokenError, right: AdminTokenError) -> Bool { left.code == right.code }
}

/// The tokens of the administrators. Each administrator has their own, and a token can be changed without a moment in
/// which none is valid.
package struct AdminTokens: Equatable, Sendable {
    /// A token, and the administrator that it belongs to.
    package struct Entry: Equatable, Sendable {
        package let administrator: Administrator
        package let token: Secret

        package init(_ administrator: Administrator, _ token: Secret) {
            self.administrator = administrator
            self.token = token
        }
    }

    private let entries: [Entry]

    /// - Returns: `nil` for no token, or an empty one.
    package init?(entries: [Entry]) {
        guard !entries.isEmpty, !entries.contains(where: \.token.isEmpty) else { return nil }
        self.entries = entries
    }

    /// Tokens without names.
    ///
    /// - Returns: `nil` for no token, or an empty one.
    package init?(_ tokens: [Secret]) { self.init(entries: tokens.map { Entry(.unnamed, $0) }) }

    /// The administrator whose token `presented` is; `nil` for an unknown token. The time taken depends only on the
    /// tokens' lengths.
    package func administrator(presenting presented: Secret) -> Administrator? {
        var found: Int?
        for index in self.entries.indices {
            let isThis = self.entries[index].token == presented
            found = isThis ? index : found
        }
        return found.map { self.entries[$0].administrator }
    }

    /// Whether `presented` is one of them.
    package func contain(_ presented: Secret) -> Bool { self.administrator(presenting: presented) != nil }
}
