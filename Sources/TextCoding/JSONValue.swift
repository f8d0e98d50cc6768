package import TokenModel

/// One value of JSON text (RFC 8259). A string is treated as a secret until it is known not to be one.
package enum JSONValue: Equatable, Sendable {
    case null
    case boolean(Bool)
    /// As it was written.
    case number(String)
    case string(Secret)
    case array([JSONValue])
    case object([JSONMember])
}

/// One name and its value.
package struct JSONMember: Equatable, Sendable {
    package let name: String
    package let value: JSONValue
}

/// Why text is not accepted as JSON.
package enum JSONFault: Error, Equatable {
    /// The text is not JSON from this byte on; 0 for text that is not UTF-8.
    case malformed(offset: Int)
    /// Objects and arrays are nested deeper than ``JSONScanner/deepest``.
    case tooDeep
    /// An object has the same name twice: two readers may see different values there.
    case repeatedName
}

extension JSONValue {
    /// Parses JSON text strictly and to its end.
    package init(parsing bytes: [UInt8]) throws(JSONFault) {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .malformed(offset: 0) }
        var scanner = JSONScanner(at: 0)
        var hasRepeatedName = false
        do throws(JSONScanFault) {
            let text = bytes.span
            scanner.skipSpace(text)
            self = try Self.value(text, &scanner, depth: 0, &hasRepeatedName)
            scanner.skipSpace(text)
            guard scanner.position == text.count else { throw .malformed }
        } catch {
            throw error == .tooDeep ? .tooDeep : .malformed(offset: scanner.position)
        }
        guard !hasRepeatedName else { throw .repeatedName }
    }

    private static func value(
        _ text: Span<UInt8>,
        _ scanner: inout JSONScanner,
        depth: Int,
        _ hasRepeatedName: inout Bool
    ) throws(JSONScanFault) -> JSONValue {
        switch scanner.peek(text) {
        case UInt8(ascii: "{"):
            var members: [JSONMember] = []
            var names: Set<[UInt8]> = []
            try scanner.object(text, depth: depth + 1) { name, scanner throws(JSONScanFault) in
                if !names.insert(name).inserted { hasRepeatedName = true }
                let value = try Self.value(text, &scanner, depth: depth + 1, &hasRepeatedName)
                members.append(JSONMember(name: String(decoding: name, as: UTF8.self), value: value))
            }
            return .object(members)
        case UInt8(ascii: "["):
            var elements: [JSONValue] = []
            try scanner.array(text, depth: depth + 1) { scanner throws(JSONScanFault) in
                elements.append(try Self.value(text, &scanner, depth: depth + 1, &hasRepeatedName))
            }
            return .array(elements)
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
}
