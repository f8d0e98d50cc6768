/// A value of RESP3, the protocol of Redis and Valkey (Redis, "RESP protocol description").
///
/// An attribute, which may precede any value, has no case: a client that has not asked for one may drop it.
package indirect enum RESPValue: Equatable, Sendable {
    /// `_`, and also the two forms of RESP2.
    case null
    /// `+`
    case simple(String)
    /// `-` and `!`
    case failure(RESPFailure)
    /// `:`
    case integer(Int64)
    /// `,`
    case double(Double)
    /// `#`
    case boolean(Bool)
    /// `(`, a number of any size, as its digits.
    case bigNumber(String)
    /// `$`
    case blob([UInt8])
    /// `=`, a text whose format is named by three letters.
    case verbatim(format: String, [UInt8])
    /// `*`
    case array([RESPValue])
    /// `~`
    case set([RESPValue])
    /// `%`, in the order in which the entries came.
    case map([Entry])
    /// `>`, which no command has asked for.
    case push([RESPValue])

    /// A key of a map with its value.
    package struct Entry: Equatable, Sendable {
        package let key: RESPValue
        package let value: RESPValue

        package init(_ key: RESPValue, _ value: RESPValue) {
            self.key = key
            self.value = value
        }
    }

    /// The bytes of a text of any type.
    var bytes: [UInt8]? {
        switch self {
        case .blob(let bytes), .verbatim(_, let bytes): bytes
        case .simple(let text): Array(text.utf8)
        default: nil
        }
    }

    /// A text of any type, if it is UTF-8.
    var text: String? { self.bytes.flatMap { String(validating: $0, as: UTF8.self) } }

    /// The elements of an array.
    var elements: [RESPValue]? { if case .array(let elements) = self { elements } else { nil } }
}

/// What a server says instead of a result: a code in capital letters, and a sentence.
package struct RESPFailure: Equatable, Sendable {
    /// The first word, such as `WRONGPASS`.
    package let code: String
    /// All of it.
    package let message: String

    package init(_ message: String) {
        self.message = message
        self.code = String(message.prefix { $0 != " " })
    }
}
