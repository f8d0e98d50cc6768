import NIOCore

/// One challenge of a `WWW-Authenticate` field (RFC 9110 §11.6.1), reduced to what shows a dead token.
package struct Challenge: Equatable, Sendable {
    /// The scheme is `Bearer` (RFC 6750 §3).
    package var isBearer: Bool
    /// Its `error` parameter.
    package var error: BearerError?

    /// What `error` says of the token (RFC 6750 §3.1).
    package enum BearerError: Equatable, Sendable {
        /// `invalid_token`: expired, revoked or malformed. A fresh token may work.
        case invalidToken
        /// `insufficient_user_authentication` (RFC 9470 §3) or `insufficient_claims`: another token does not help, only
        /// the user does.
        case insufficient
        /// Any other value, also one that is no error code.
        case other

        init(_ value: [UInt8]) {
            self =
                switch String(decoding: value, as: UTF8.self).lowercased() {
                case "invalid_token": .invalidToken
                case "insufficient_user_authentication", "insufficient_claims": .insufficient
                default: .other
                }
        }
    }
}

extension ResponseHead {
    /// All challenges of the response, in order. Malformed text is skipped up to the next comma.
    package var challenges: [Challenge] {
        let bytes = self.bytes.readableBytesUInt8Span
        var challenges: [Challenge] = []
        for field in self.fields where field.known == .wwwAuthenticate {
            var reader = ChallengeReader(field.value)
            reader.read(bytes, into: &challenges)
        }
        return challenges
    }
}

/// `challenge = auth-scheme [ 1*SP ( token68 / #auth-param ) ]`: a list within a list. What follows a token tells which
/// of the two lists it belongs to.
private struct ChallengeReader {
    var position: Int
    let end: Int
    /// Whether a challenge may begin here: at the start, and after a comma.
    private var isAtMember = true

    init(_ range: ByteRange) {
        self.position = range.lower
        self.end = range.upper
    }

    mutating func read(_ bytes: Span<UInt8>, into challenges: inout [Challenge]) {
        while true {
            self.skipSeparators(bytes)
            guard self.position < self.end else { return }
            let token = self.token(bytes)
            let hasSpace = self.skipSpaces(bytes)
            if token.isEmpty {
                self.skipToComma(bytes)
            } else if self.position < self.end, bytes[self.position] == .equals {
                self.position += 1
                self.skipSpaces(bytes)
                let value = self.value(bytes)
                self.isAtMember = false
                guard !challenges.isEmpty, bytes.matches(token, "error") else { continue }
                challenges[challenges.count - 1].error = Challenge.BearerError(value)
            } else if self.isAtMember {
                challenges.append(Challenge(isBearer: bytes.matches(token, "bearer")))
                if hasSpace { self.skipToken68(bytes) }
                self.isAtMember = false
            } else {
                self.skipToComma(bytes)
            }
        }
    }

    private mutating func skipSeparators(_ bytes: Span<UInt8>) {
        while self.position < self.end,
            bytes[self.position] == .comma || bytes[self.position] == .space || bytes[self.position] == .tab
        {
            if bytes[self.position] == .comma { self.isAtMember = true }
            self.position += 1
        }
    }

    /// Returns whether there were any.
    @discardableResult
    private mutating func skipSpaces(_ bytes: Span<UInt8>) -> Bool {
        let start = self.position
        while self.position < self.end, bytes[self.position] == .space || bytes[self.position] == .tab {
            self.position += 1
        }
        return self.position > start
    }

    /// Skips malformed text up to a comma; a comma within quotes does not count.
    private mutating func skipToComma(_ bytes: Span<UInt8>) {
        while self.position < self.end, bytes[self.position] != .comma {
            if bytes[self.position] == .quote {
                _ = self.value(bytes)
            } else {
                self.position += 1
            }
        }
    }

    /// Skips credentials in one word (RFC 9110 §11.2), which a comma or the end must follow. If a value follows, the
    /// word is a parameter and is not skipped.
    private mutating func skipToken68(_ bytes: Span<UInt8>) {
        let start = self.position
        while self.position < self.end, bytes[self.position].isToken || bytes[self.position] == .slash {
            self.position += 1
        }
        while self.position < self.end, bytes[self.position] == .equals { self.position += 1 }
        self.skipSpaces(bytes)
        if self.position < self.end, bytes[self.position] != .comma { self.position = start }
    }

    private mutating func token(_ bytes: Span<UInt8>) -> ByteRange {
        let start = self.position
        while self.position < self.end, bytes[self.position].isToken { self.position += 1 }
        return ByteRange(start, self.position)
    }

    /// A token, or the contents of a quoted string without the backslashes that escape.
    private mutating func value(_ bytes: Span<UInt8>) -> [UInt8] {
        var value: [UInt8] = []
        guard self.position < self.end, bytes[self.position] == .quote else {
            let token = self.token(bytes)
            for index in token.lower..<token.upper { value.append(bytes[index]) }
            return value
        }
        self.position += 1
        while self.position < self.end, bytes[self.position] != .quote {
            if bytes[self.position] == .backslash, self.position + 1 < self.end { self.position += 1 }
            value.append(bytes[self.position])
            self.position += 1
        }
        self.position = min(self.position + 1, self.end)
        return value
    }
}
