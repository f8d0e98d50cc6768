internal import FoundationEssentials
internal import TextCoding
internal import TokenModel

/// A sign-in as the admin API shows it. Times are in RFC 3339 format.
package struct SignInReply: Decodable, Equatable, Sendable {
    package let id: String
    package let account: String
    package let provider: String
    /// One word; new states may appear.
    package let state: String
    /// The address to open; only in the response that started the sign-in, and not for a device.
    package let url: String?
    /// What to type at ``verificationURI``; only for a device.
    package let userCode: String?
    package let verificationURI: String?
    /// The same address with the code in it; `nil` if the provider has none.
    package let verificationURIComplete: String?
    /// Scopes that were asked for and not granted.
    package let missingScopes: [String]
    package let error: Failure?
    package let startedAt: String
    package let expiresAt: String

    private enum CodingKeys: String, CodingKey {
        case id, account, provider, state, url, error
        case userCode = "user_code"
        case verificationURI = "verification_uri"
        case verificationURIComplete = "verification_uri_complete"
        case missingScopes = "missing_scopes"
        case startedAt = "started_at"
        case expiresAt = "expires_at"
    }

    /// Why a sign-in failed.
    package struct Failure: Decodable, Equatable, Sendable {
        /// One word.
        package let code: String
        package let message: String
    }

    /// Whether nothing more will come of it.
    package var isOver: Bool { self.state != "pending" && self.state != "redeeming" }

    /// How long it may take. The local clock need not agree with the gateway's, so only the difference of its times
    /// counts.
    package var lifetime: Duration {
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let start = try? format.parse(self.startedAt), let end = try? format.parse(self.expiresAt) else {
            return Self.usualLifetime
        }
        let seconds = end.timeIntervalSince(start)
        return seconds > 0 && seconds < 86_400 ? .milliseconds(Int64(seconds * 1_000)) : Self.usualLifetime
    }

    private static let usualLifetime = Duration.seconds(600)
}

/// How the provider's answer comes back.
package enum LoginWay: String, Equatable, Sendable {
    /// To a port of this machine.
    case loopback
    /// By hand: the address that the browser was sent to is typed in.
    case paste
    /// To the gateway's own listener.
    case gateway
    /// Not at all: the gateway asks the provider (RFC 8628).
    case device
}

/// What the admin API is asked to start.
package struct SignInOrder: Encodable, Equatable, Sendable {
    package let account: String
    package let way: String
    package let redirectURI: String?
    /// `nil` for `false`.
    package let replaceSubject: Bool?

    private enum CodingKeys: String, CodingKey {
        case account, way
        case redirectURI = "redirect_uri"
        case replaceSubject = "replace_subject"
    }

    package init(account: String, way: LoginWay, redirectURI: String? = nil, replacesSubject: Bool = false) {
        self.account = account
        self.way = way.rawValue
        self.redirectURI = redirectURI
        self.replaceSubject = replacesSubject ? true : nil
    }

    /// The JSON body for the admin API.
    package var body: [UInt8] {
        // It holds only strings and a Boolean, so it always encodes.
        (try? JSONText.encode(self)) ?? []
    }
}

/// The address that the provider sent the browser to. It holds the code that the gateway trades for tokens.
package struct SignInAnswer: Equatable, Sendable {
    private let address: Secret

    /// Takes the address as a user pasted it. Surrounding whitespace and quotes are ignored.
    ///
    /// - Throws: ``ProgramExit/usage``; the message repeats nothing of the text.
    package init(pasted text: String) throws(CommandFailure) {
        func isAround(_ character: Character) -> Bool {
            character.isWhitespace || character == "\"" || character == "'" || character == "<" || character == ">"
        }
        let address = text.drop(while: isAround).reversed().drop(while: isAround).reversed()
        guard !address.isEmpty else { throw CommandFailure(.usage, "no address was given") }
        guard let answer = SignInAnswer(String(address)) else {
            throw CommandFailure(
                .usage,
                "that is no address: it has to be the whole one from the browser's address bar, in one line"
            )
        }
        self = answer
    }

    /// - Returns: `nil` unless the address is visible ASCII characters, of a plausible number.
    package init?(_ address: String) {
        guard !address.isEmpty, address.utf8.count <= Self.longest, address.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return nil }
        self.address = Secret(address)
    }

    /// The JSON body for the admin API.
    package var body: [UInt8] {
        self.address.withUnredacted { bytes in
            // Of visible ASCII characters, only two need escapes.
            var body = Array("{\"answer\":\"".utf8)
            for index in bytes.indices {
                if bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "\\") {
                    body.append(UInt8(ascii: "\\"))
                }
                body.append(bytes[index])
            }
            return body + Array("\"}".utf8)
        }
    }

    private static let longest = 32_768
}
