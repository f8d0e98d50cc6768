internal import JSONText
internal import TokenModel

/// Parses JSON text (RFC 8259) strictly, to its end, and no deeper than ``JSONScanner/deepest``.
enum JSONParser {
    static func parse(_ bytes: [UInt8]) throws(JSONFault) -> JSONValue {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .malformed(offset: 0) }
        var scanner = JSONScanner(at: 0)
        var hasRepeatedName = false
        let value: JSONValue
        do throws(JSONScanFault) {
            let text = bytes.span
            scanner.skipSpace(text)
            value = try Self.value(text, &scanner, depth: 0, &hasRepeatedName)
            scanner.skipSpace(text)
            guard scanner.position == text.count else { throw .malformed }
        } catch {
            throw error == .tooDeep ? .tooDeep : .malformed(offset: scanner.position)
        }
        guard !hasRepeatedName else { throw .repeatedName }
        return value
    }

    private static func value(
        _ text: Span<UInt8>,
        _ scanner: inout JSONScanner,
        depth: Int,
        _ hasRepeatedName: inout Bool
    ) throws(JSONScanFault) -> JSONValue {
        switch scanner.peek(text) {
        case UInt8(ascii: "{"):
            return .object(try Self.members(text, &scanner, depth: depth + 1, &hasRepeatedName))
        case UInt8(ascii: "["):
            return .array(try Self.elements(text, &scanner, depth: depth + 1, &hasRepeatedName))
        case UInt8(ascii: "\""): return .string(Secret(try scanner.string(text)))
        case UInt8(ascii: "t"):
            try scanner.expect("true", text)
            return .boolean(true)
        case UInt8(ascii: "f"):
            try scanner.expect("false", text)
            return .boolean(false)
        case UInt8(ascii: "n"):
            try scanner.expect("null", text)
            return .null
        default: return .number(try scanner.numberText(text))
        }
    }

    private static func members(
        _ text: Span<UInt8>,
        _ scanner: inout JSONScanner,
        depth: Int,
        _ hasRepeatedName: inout Bool
    ) throws(JSONScanFault) -> [JSONMember] {
        guard depth <= JSONScanner.deepest else { throw .tooDeep }
        var members: [JSONMember] = []
        var names: Set<String> = []
        try scanner.expect(UInt8(ascii: "{"), text)
        scanner.skipSpace(text)
        if scanner.take(UInt8(ascii: "}"), text) { return members }
        repeat {
            scanner.skipSpace(text)
            let name = String(decoding: try scanner.string(text), as: UTF8.self)
            if !names.insert(name).inserted { hasRepeatedName = true }
            scanner.skipSpace(text)
            try scanner.expect(UInt8(ascii: ":"), text)
            scanner.skipSpace(text)
            members.append(
                JSONMember(name: name, value: try Self.value(text, &scanner, depth: depth, &hasRepeatedName))
            )
            scanner.skipSpace(text)
        } while scanner.take(UInt8(ascii: ","), text)
        try scanner.expect(UInt8(ascii: "}"), text)
        return members
    }

    private static func elements(
        _ text: Span<UInt8>,
        _ scanner: inout JSONScanner,
        depth: Int,
        _ hasRepeatedName: inout Bool
    ) throws(JSONScanFault) -> [JSONValue] {
        guard depth <= JSONScanner.deepest else { throw .tooDeep }
        var elements: [JSONValue] = []
        try scanner.expect(UInt8(ascii: "["), text)
        scanner.skipSpace(text)
        if scanner.take(UInt8(ascii: "]"), text) { return elements }
        repeat {
            scanner.skipSpace(text)
            elements.append(try Self.value(text, &scanner, depth: depth, &hasRepeatedName))
            scanner.skipSpace(text)
        } while scanner.take(UInt8(ascii: ","), text)
        try scanner.expect(UInt8(ascii: "]"), text)
        return elements
    }
}

/// Why text is not accepted as JSON.
enum JSONFault: Error, Equatable {
    /// The text is not JSON from this byte on; 0 for text that is not UTF-8.
    case malformed(offset: Int)
    /// Objects and arrays are nested too deeply.
    case tooDeep
    /// An object has the same name twice: two readers may see different values there.
    case repeatedName
}

/// One value of JSON text (RFC 8259). A string is treated as a secret until it is known not to be one.
enum JSONValue: Equatable, Sendable {
    case null
    case boolean(Bool)
    /// As it was written.
    case number(String)
    case string(Secret)
    case array([JSONValue])
    case object([JSONMember])
}

/// One name and its value.
struct JSONMember: Equatable, Sendable {
    let name: String
    let value: JSONValue
}
