import NIOCore

/// One challenge of a `WWW-Authenticate` field (RFC 9110 §11.6.1), as far as a dead token shows in it.
package struct Challenge: Equatable, Sendable {
    /// The scheme is `Bearer` (RFC 6750 §3).
    package var isBearer: Bool
    /// Its `error` parameter.
    package var error: BearerError?

    package enum BearerError: Equatable, Sendable {
        case invalidToken
        /// `insufficient_user_authentication` (RFC 9470 §3) or `insufficient_claims`: another token is no help, only the
        /// user is.
        case insufficient
        case other
    }
}

extension ResponseHead {
    /// All challenges of the answer, in order. What can't be read is skipped to the next comma.
    package var challenges: [Challenge] {
        let bytes = self.bytes.readableBytesUInt8Span
        var challenges: [Challenge] = []
        for field in self.fields where field.known == .wwwAuthenticate {
            var reader = ChallengeReader(position: field.value.lower, end: field.value.upper)
            reader.read(bytes, into: &challenges)
        }
        return challenges
    }
}

/// `challenge = auth-scheme [ 1*SP ( token68 / #auth-param ) ]`: a list within a list, told apart by what follows a token.
private struct ChallengeReader {
    var position: Int
    let end: Int

    mutating func read(_ bytes: Span<UInt8>, into challenges: inout [Challenge]) {
        while self.position < self.end {
            self.skipSeparators(bytes)
            let token = self.token(bytes)
            guard !token.isEmpty else {
                self.position += 1
                continue
            }
            let afterToken = self.position
            self.skipSpaces(bytes)
            if self.position < self.end, bytes[self.position] == .equals {
                self.position += 1
                self.skipSpaces(bytes)
                let value = self.value(bytes)
                guard !challenges.isEmpty, bytes.matches(token, "error") else { continue }
                challenges[challenges.count - 1].error = Self.error(value, in: bytes)
            } else {
                self.position = max(afterToken, self.position)
                challenges.append(Challenge(isBearer: bytes.matches(token, "bearer")))
            }
        }
    }

    private static func error(_ value: ByteRange, in bytes: Span<UInt8>) -> Challenge.BearerError {
        if bytes.matches(value, "invalid_token") { return .invalidToken }
        let insufficient: [StaticString] = ["insufficient_user_authentication", "insufficient_claims"]
        return insufficient.contains { bytes.matches(value, $0) } ? .insufficient : .other
    }

    private mutating func skipSeparators(_ bytes: Span<UInt8>) {
        while self.position < self.end,
            bytes[self.position] == .comma || bytes[self.position] == .space || bytes[self.position] == .tab
        {
            self.position += 1
        }
    }

    private mutating func skipSpaces(_ bytes: Span<UInt8>) {
        while self.position < self.end, bytes[self.position] == .space || bytes[self.position] == .tab {
            self.position += 1
        }
    }

    private mutating func token(_ bytes: Span<UInt8>) -> ByteRange {
        let start = self.position
        while self.position < self.end, bytes[self.position].isToken { self.position += 1 }
        return ByteRange(start, self.position)
    }

    /// A token, or the inside of a quoted string.
    private mutating func value(_ bytes: Span<UInt8>) -> ByteRange {
        guard self.position < self.end, bytes[self.position] == .quote else { return self.token(bytes) }
        self.position += 1
        let start = self.position
        while self.position < self.end, bytes[self.position] != .quote {
            self.position += bytes[self.position] == .backslash ? 2 : 1
        }
        let value = ByteRange(start, min(self.position, self.end))
        self.position = min(self.position + 1, self.end)
        return value
    }
}
