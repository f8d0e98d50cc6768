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
