internal import TextCoding
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
        var isRepeated = false
        var scanner = JSONScanner(at: JSONScanner.start(of: bytes))
        do throws(JSONScanFault) {
            scanner.skipSpace(bytes)
            try scanner.object(bytes, depth: 1) { name, scanner throws(JSONScanFault) in
                let name = String(decoding: name, as: UTF8.self)
                guard wanted.contains(name) else { return try scanner.skipValue(bytes, depth: 1) }
                let value = try Self.readValue(bytes, &scanner)
                let former = members.updateValue(value, forKey: name)
                if former != nil, ResponseFault.isDecisive(name) { isRepeated = true }
            }
            scanner.skipSpace(bytes)
            guard scanner.position == bytes.count else { throw .malformed }
        } catch {
            throw isRepeated ? .repeatedMember : ResponseFault(error)
        }
        guard !isRepeated else { throw .repeatedMember }
        return members
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
}
