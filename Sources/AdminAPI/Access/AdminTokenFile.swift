internal import LocalFiles
package import TokenModel

/// The file with the admin tokens: an ``AdminTokenLine`` each, with a token of 16 characters or more.
package struct AdminTokenFile: Sendable {
    private let path: String
    private let stateDirectory: String?

    /// Nothing is read or made yet.
    ///
    /// - Parameter stateDirectory: a file elsewhere may be another user's, who mounts it; `nil`: none may.
    package init(path: String, stateDirectory: String? = nil) {
        self.path = path
        self.stateDirectory = stateDirectory
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

    /// In characters. Whoever tries tokens out is slowed down and not kept out, so none may be one that can be guessed.
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
        // Else the audit log could not say who did something, nor anybody what they may do.
        guard !others.contains(where: { $0.token == entry.token && $0.administrator != administrator }) else {
            throw AdminTokenError(.malformed, "\(self.path):\(line): the token is another administrator's, too")
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

    /// 256 random bits as text, and the end of the line.
    private static func randomLine() -> Secret {
        var generator = SystemRandomNumberGenerator()
        let drawn = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return Secret(Base64URL.encode(drawn) + [UInt8(ascii: "\n")])
    }
}

/// The URL-safe alphabet of base64, without padding (RFC 4648 §5).
enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var encoded: [UInt8] = []
        encoded.reserveCapacity((bytes.count * 4 + 2) / 3)
        var pending: UInt32 = 0
        var bits = 0
        for byte in bytes {
            pending = pending << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                encoded.append(Self.alphabet[Int(pending >> bits & 0x3F)])
            }
        }
        if bits > 0 { encoded.append(Self.alphabet[Int(pending << (6 - bits) & 0x3F)]) }
        return encoded
    }
}

/// Why the file of admin tokens could not be taken. Equal when the codes are equal.
package struct AdminTokenError: Error, Sendable {
    /// What went wrong, for programs.
    package enum Code: String, Sendable {
        /// It can't be made or read.
        case inaccessible
        /// Others can read or write it, and this user could have prevented that.
        case exposed
        /// It holds no token, or a line that is none.
        case malformed
        /// It holds a token that is too short to withstand whoever tries tokens out.
        case guessable
    }

    package let code: Code
    /// For the operator: what failed, on what, what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension AdminTokenError: Equatable {
    package static func == (left: AdminTokenError, right: AdminTokenError) -> Bool { left.code == right.code }
}

/// The tokens that let administrators in. There may be several: each has its own, and one can be changed without a moment
/// without any.
package struct AdminTokens: Equatable, Sendable {
    /// A token, and whose it is.
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

    /// Whose token `presented` is; `nil` for nobody's. The time it takes tells how long the tokens are and nothing else.
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
