internal import TextCoding
internal import TokenModel

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
