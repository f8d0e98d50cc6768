internal import JSONText
internal import TokenModel

/// Reads the requested members of one JSON object (RFC 8259).
enum JSONReader {
    /// Rejects text that is not one object in UTF-8, is nested deeper than 16, or repeats a member that decides,
    /// because two parsers may see different values there. Nested values are skipped. A byte order mark is ignored
    /// (§8.1).
    static func read(
        _ bytes: Span<UInt8>,
        members wanted: Set<String>
    ) throws(ResponseFault) -> [String: ResponseValue] {
        guard (try? UTF8Span(validating: bytes)) != nil else { throw .malformed }
        var members: [String: ResponseValue] = [:]
        let isPlain: Bool
        do throws(JSONScanFault) {
            isPlain = try Self.readObject(bytes, members: wanted, into: &members)
        } catch {
            throw ResponseFault(error)
        }
        guard isPlain else { throw .repeatedMember }
        return members
    }

    /// - Returns: whether no member that decides is repeated.
    private static func readObject(
        _ bytes: Span<UInt8>,
        members wanted: Set<String>,
        into members: inout [String: ResponseValue]
    ) throws(JSONScanFault) -> Bool {
        var scanner = JSONScanner(at: Self.startsWithByteOrderMark(bytes) ? 3 : 0)
        scanner.skipSpace(bytes)
        try scanner.expect(UInt8(ascii: "{"), bytes)
        scanner.skipSpace(bytes)
        if !scanner.take(UInt8(ascii: "}"), bytes) {
            repeat {
                scanner.skipSpace(bytes)
                guard try Self.readMember(bytes, &scanner, members: wanted, into: &members) else { return false }
                scanner.skipSpace(bytes)
            } while scanner.take(UInt8(ascii: ","), bytes)
            try scanner.expect(UInt8(ascii: "}"), bytes)
        }
        scanner.skipSpace(bytes)
        guard scanner.position == bytes.count else { throw .malformed }
        return true
    }

    private static func readMember(
        _ bytes: Span<UInt8>,
        _ scanner: inout JSONScanner,
        members wanted: Set<String>,
        into members: inout [String: ResponseValue]
    ) throws(JSONScanFault) -> Bool {
        let name = String(decoding: try scanner.string(bytes), as: UTF8.self)
        scanner.skipSpace(bytes)
        try scanner.expect(UInt8(ascii: ":"), bytes)
        scanner.skipSpace(bytes)

        guard wanted.contains(name) else {
            try scanner.skipValue(bytes, depth: 1)
            return true
        }
        let value = try Self.readValue(bytes, &scanner)
        return members.updateValue(value, forKey: name) == nil || !ResponseFault.isDecisive(name)
    }

    private static func readValue(
        _ bytes: Span<UInt8>,
        _ scanner: inout JSONScanner
    ) throws(JSONScanFault) -> ResponseValue {
        switch scanner.peek(bytes) {
        case UInt8(ascii: "\""):
            return .string(Secret(try scanner.string(bytes)))
        case UInt8(ascii: "t"), UInt8(ascii: "f"):
            let isTrue = scanner.peek(bytes) == UInt8(ascii: "t")
            try scanner.skipValue(bytes, depth: 1)
            return .boolean(isTrue)
        case UInt8(ascii: "n"):
            try scanner.skipValue(bytes, depth: 1)
            return .null
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            try scanner.skipValue(bytes, depth: 1)
            return .nested
        default:
            return .number(try scanner.number(bytes))
        }
    }

    private static func startsWithByteOrderMark(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF
    }
}
