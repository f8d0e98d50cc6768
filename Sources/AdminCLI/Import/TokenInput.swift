internal import Glibc
internal import OAuth
internal import TextCoding
package import TokenModel

/// Tokens as a user supplies them: a provider's token response, or a refresh token alone.
package struct TokenInput: Equatable, Sendable {
    package let refreshToken: Secret
    /// `nil`: the first use fetches one.
    package let accessToken: Secret?
    /// In seconds; never negative.
    package let expiresIn: Int64?
    /// The granted scope (RFC 6749 §3.3); `nil` if it is not known.
    package let scope: String?

    /// Parses text that was typed, piped or stored in a file.
    ///
    /// - Parameter text: a JSON object in the form of a token response (RFC 6749 §5.1), whose other members are
    ///   ignored, or a refresh token. Surrounding whitespace is ignored.
    /// - Throws: ``ProgramExit/usage``; the message repeats nothing of the text except the words of an error response.
    package init(_ text: String) throws(CommandFailure) {
        let trimmed = Self.trimmed(text)
        guard !trimmed.isEmpty else {
            throw CommandFailure(.usage, "the input is empty; expected a refresh token or a provider's token answer")
        }
        if trimmed.hasPrefix("{") {
            try self.init(answer: trimmed)
        } else {
            if let reason = MistakenInput.reason(of: trimmed) { throw CommandFailure(.usage, reason) }
            self.init(refreshToken: try Self.token(trimmed, "the input"), accessToken: nil, expiresIn: nil, scope: nil)
        }
    }

    private init(refreshToken: Secret, accessToken: Secret?, expiresIn: Int64?, scope: String?) {
        self.refreshToken = refreshToken
        self.accessToken = accessToken
        self.expiresIn = expiresIn
        self.scope = scope
    }

    private init(answer text: String) throws(CommandFailure) {
        let answer = try TokenResponse.read(text)
        guard let refreshToken = answer.refreshToken else {
            throw CommandFailure(
                .usage,
                answer.error.map { "the token answer is an error of the provider and holds no tokens\($0)" }
                    ?? "the token answer has no refresh_token, without which nothing can be refreshed; many providers give "
                    + "one only when asked for offline access"
            )
        }
        guard answer.tokenType.map({ ResponseRules().bearerTokenTypes.contains($0.lowercased()) }) != false else {
            throw CommandFailure(
                .usage,
                "the token answer's token_type is not Bearer: such tokens can't be used by putting them on requests"
            )
        }
        self.init(
            refreshToken: try Self.token(refreshToken, "refresh_token"),
            accessToken: try answer.accessToken.map { token throws(CommandFailure) in
                try Self.token(token, "access_token")
            },
            expiresIn: answer.expiresIn,
            scope: answer.scope.map { ScopeWord.words(of: $0).joined(separator: " ") }.flatMap { $0.isEmpty ? nil : $0 }
        )
    }

    /// The JSON body for the admin API.
    package var body: [UInt8] {
        // All values are printable ASCII. Only two characters need escapes, and a scope contains neither.
        var members = [Self.member("refresh_token", self.refreshToken)]
        if let accessToken = self.accessToken { members.append(Self.member("access_token", accessToken)) }
        if let expiresIn = self.expiresIn { members.append(Array("\"expires_in\":\(expiresIn)".utf8)) }
        if let scope = self.scope { members.append(Array("\"scope\":\"\(scope)\"".utf8)) }
        return [UInt8(ascii: "{")] + members.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "}")]
    }

    private static func member(_ name: String, _ token: Secret) -> [UInt8] {
        token.withUnredacted { bytes in
            var member = Array("\"\(name)\":\"".utf8)
            for index in bytes.indices {
                if bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "\\") {
                    member.append(UInt8(ascii: "\\"))
                }
                member.append(bytes[index])
            }
            return member + [UInt8(ascii: "\"")]
        }
    }

    private static func token(_ text: String, _ origin: String) throws(CommandFailure) -> Secret {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw CommandFailure(.usage, "\(origin) is no token: a token is printable characters without spaces")
        }
        guard text.utf8.count <= Self.longest else {
            throw CommandFailure(.usage, "\(origin) is no token: it has more than \(Self.longest) characters")
        }
        return Secret(text)
    }

    /// The gateway accepts no longer tokens either.
    private static let longest = 16_384

    private static func trimmed(_ text: String) -> String {
        let start = text.drop(while: \.isWhitespace)
        return String(start.reversed().drop(while: \.isWhitespace).reversed())
    }
}

/// Where tokens to import are read from. Never the command line, which other users of the machine can see.
enum TokenSource {
    case standardInput
    case file(String)

    /// - Parameter account: the account to name in the question at a terminal.
    func read(for account: String) throws(CommandFailure) -> TokenInput {
        switch self {
        case .standardInput where Terminal.isStandardInput:
            return try TokenInput(
                Terminal.readHidden(
                    HiddenQuestion(
                        text: "Refresh token for \(PlainText.line(account)) (not shown): ",
                        wanted: "a token",
                        otherwise: "pipe the tokens in or use --file",
                        cancelled: "nothing was imported"
                    )
                )
            )
        case .standardInput:
            return try TokenInput(Self.contents(STDIN_FILENO, of: "standard input"))
        case .file(let path):
            let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw CommandFailure(.usage, "can't read \(path): \(SystemText.reason(errno))")
            }
            defer { close(descriptor) }
            return try TokenInput(Self.contents(descriptor, of: path))
        }
    }

    private static func contents(_ descriptor: CInt, of name: String) throws(CommandFailure) -> String {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = unsafe part.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw CommandFailure(.usage, "can't read \(name): \(SystemText.reason(errno))") }
            guard count > 0 else { break }
            bytes += part.prefix(count)
            guard bytes.count <= 1 << 20 else {
                throw CommandFailure(.usage, "\(name) is far more than a token answer")
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.usage, "\(name) is neither a token nor JSON: it is not UTF-8 text")
        }
        return text
    }
}
