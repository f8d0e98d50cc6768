/// A required JSON value. An object may have members besides those named here; any other value must be equal.
package indirect enum JSONPattern: Hashable, Sendable {
    case null
    case flag(Bool)
    case number(Double)
    case text(String)
    /// Required members by name, in any order. Other members are allowed.
    case object([String: JSONPattern])
}

extension JSONPattern {
    /// Whether `bytes` are one JSON text (RFC 8259) that matches this pattern. Malformed text never matches.
    package func matches(_ bytes: Span<UInt8>) -> Bool {
        var scanner = JSONScanner(at: 0)
        do throws(JSONScanFault) {
            scanner.skipSpace(bytes)
            let isMatch = try self.matches(bytes, &scanner, depth: 0)
            scanner.skipSpace(bytes)
            return isMatch && scanner.position == bytes.count
        } catch {
            return false
        }
    }

    /// Reads one value to its end, whether it matches or not.
    private func matches(
        _ bytes: Span<UInt8>,
        _ scanner: inout JSONScanner,
        depth: Int
    ) throws(JSONScanFault) -> Bool {
        let first = scanner.peek(bytes)
        switch self {
        case .object(let members) where first == UInt8(ascii: "{"):
            return try Self.holds(members, bytes, &scanner, depth: depth + 1)
        case .text(let text) where first == UInt8(ascii: "\""):
            return try scanner.string(bytes) == Array(text.utf8)
        case .number(let number) where first == UInt8(ascii: "-") || first.map(Self.isDigit) == true:
            return try scanner.number(bytes) == number
        default:
            try scanner.skipValue(bytes, depth: depth)
        }
        return switch self {
        case .null: first == UInt8(ascii: "n")
        case .flag(true): first == UInt8(ascii: "t")
        case .flag(false): first == UInt8(ascii: "f")
        case .number, .text, .object: false
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// If a name occurs twice, the last occurrence counts, as in most JSON readers.
    private static func holds(
        _ members: [String: JSONPattern],
        _ bytes: Span<UInt8>,
        _ scanner: inout JSONScanner,
        depth: Int
    ) throws(JSONScanFault) -> Bool {
        var matched: Set<String> = []
        try scanner.object(bytes, depth: depth) { name, scanner throws(JSONScanFault) in
            let name = String(decoding: name, as: UTF8.self)
            guard let pattern = members[name] else { return try scanner.skipValue(bytes, depth: depth) }
            if try pattern.matches(bytes, &scanner, depth: depth) {
                matched.insert(name)
            } else {
                matched.remove(name)
            }
        }
        return matched.count == members.count
    }
}
