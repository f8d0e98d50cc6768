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

    /// The strings of one member that is an array of nothing but strings; `nil` if there is no such member, or more than
    /// one of that name.
    static func strings(in wanted: String, of bytes: Span<UInt8>) -> [String]? {
        var found: [[String]?] = []
        var scanner = JSONScanner(at: JSONScanner.start(of: bytes))
        scanner.skipSpace(bytes)
        let isObject: Void? = try? scanner.object(bytes, depth: 1) { name, scanner throws(JSONScanFault) in
            guard String(decoding: name, as: UTF8.self) == wanted, scanner.peek(bytes) == UInt8(ascii: "[") else {
                return try scanner.skipValue(bytes, depth: 1)
            }
            var texts: [String]? = []
            try scanner.array(bytes, depth: 2) { scanner throws(JSONScanFault) in
                if scanner.peek(bytes) == UInt8(ascii: "\"") {
                    texts?.append(String(decoding: try scanner.string(bytes), as: UTF8.self))
                } else {
                    texts = nil
                    try scanner.skipValue(bytes, depth: 2)
                }
            }
            found.append(texts)
        }
        guard isObject != nil, found.count == 1 else { return nil }
        return found[0]
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

/// Reads the requested pairs of an `application/x-www-form-urlencoded` body.
enum FormReader {
    /// Rejects what no encoder writes: raw spaces, controls and non-ASCII, an incomplete `%` escape, a repeated member
    /// that decides (``ResponseFault/isDecisive(_:)``).
    static func read(
        _ bytes: Span<UInt8>,
        members wanted: Set<String>
    ) throws(ResponseFault) -> [String: ResponseValue] {
        var end = bytes.count
        while end > 0, bytes[end - 1] == 0x0A || bytes[end - 1] == 0x0D { end -= 1 }

        var fields: [String: ResponseValue] = [:]
        var start = 0
        while start < end {
            var stop = start
            while stop < end, bytes[stop] != UInt8(ascii: "&") { stop += 1 }
            try Self.readPair(bytes, start, stop, members: wanted, into: &fields)
            start = stop + 1
        }
        return fields
    }

    private static func readPair(
        _ bytes: Span<UInt8>,
        _ start: Int,
        _ stop: Int,
        members wanted: Set<String>,
        into fields: inout [String: ResponseValue]
    ) throws(ResponseFault) {
        var equals = start
        while equals < stop, bytes[equals] != UInt8(ascii: "=") { equals += 1 }

        let name = String(decoding: try Self.decode(bytes, start, equals), as: UTF8.self)
        let value = try Self.decode(bytes, min(equals + 1, stop), stop)
        guard wanted.contains(name) else { return }
        guard fields.updateValue(.string(Secret(value)), forKey: name) == nil || !ResponseFault.isDecisive(name) else {
            throw .repeatedMember
        }
    }

    private static func decode(_ bytes: Span<UInt8>, _ start: Int, _ stop: Int) throws(ResponseFault) -> [UInt8] {
        let text = bytes.extracting(start..<stop)
        guard text.indices.allSatisfy({ (0x21...0x7E).contains(text[$0]) }),
            let decoded = PercentCoding.decode(text, isForm: true)
        else { throw .malformed }
        return decoded
    }
}
