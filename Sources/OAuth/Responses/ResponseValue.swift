internal import JSONText
internal import TokenModel

/// One value of an answer. Every string is taken for a secret: real providers print tokens in odd places.
enum ResponseValue: Equatable, Sendable {
    case string(Secret)
    /// May be infinite.
    case number(Double)
    case boolean(Bool)
    case null
    /// An object or an array; nothing of ours is in one.
    case nested
}

extension ResponseValue {
    /// A string in the open: only for what is no token by its meaning.
    var asText: String? {
        guard case .string(let text) = self else { return nil }
        return text.withUnredacted { text in String(decoding: text.indices.map { text[$0] }, as: UTF8.self) }
    }

    /// A number, or a string that is one and nothing else (`"3600"`).
    var asNumber: Double? {
        switch self {
        case .number(let number):
            return number
        case .string(let text):
            return text.withUnredacted { text in
                var scanner = JSONScanner(at: 0)
                guard text.count <= 32, let number = try? scanner.number(text), scanner.position == text.count else {
                    return nil
                }
                return number
            }
        case .boolean, .null, .nested:
            return nil
        }
    }
}

/// How long to wait, out of a `Retry-After` field (RFC 9110 §10.2.3): seconds or a date, held to what is sane.
enum RetryAfter {
    static let shortest: Duration = .seconds(1)
    static let longest: Duration = .seconds(300)
    /// Where the field is missing or says nothing that can be read.
    static let unspecified: Duration = .seconds(30)

    static func read(_ text: String?, now: WallTime) -> Duration {
        guard let text else { return Self.unspecified }
        if let seconds = ResponseValue.string(Secret(text)).asNumber ?? Self.longNumber(text) {
            return Self.clamp(seconds)
        }
        if let date = HTTPDate.read(text) {
            return min(max(now.duration(to: date), Self.shortest), Self.longest)
        }
        return Self.unspecified
    }

    private static func clamp(_ seconds: Double) -> Duration {
        if seconds <= 1 { return Self.shortest }
        if seconds >= 300 { return Self.longest }
        return .milliseconds(Int64(seconds * 1000))
    }

    /// Digits beyond what a number needs, or with zeros before it, are still a number of seconds.
    private static func longNumber(_ text: String) -> Double? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Double(text)
    }
}
