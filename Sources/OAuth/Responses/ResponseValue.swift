internal import TextCoding
internal import TokenModel

/// One value in a response. Every string counts as a secret, because providers do print tokens in unexpected fields.
enum ResponseValue: Equatable, Sendable {
    case string(Secret)
    /// May be infinite.
    case number(Double)
    case boolean(Bool)
    case null
    /// An object or an array. No field that Martlet reads is one.
    case nested
}

extension ResponseValue {
    /// The string in plain text. Use this only for fields that are not tokens by their meaning.
    var asText: String? {
        guard case .string(let text) = self else { return nil }
        return text.withUnredacted { text in String(decoding: text.indices.map { text[$0] }, as: UTF8.self) }
    }

    /// The value of a number, or of a string that is only a number (`"3600"`).
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

/// The wait in a `Retry-After` field (RFC 9110 §10.2.3), given as seconds or a date, clamped to 1 s to 300 s.
enum RetryAfter {
    static let shortest: Duration = .seconds(1)
    static let longest: Duration = .seconds(300)
    /// Used if the field is missing or can't be read.
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

    /// A number of seconds with more digits than the number parser takes, or with leading zeros.
    private static func longNumber(_ text: String) -> Double? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Double(text)
    }
}
