/// The form that paths of routes and upstreams are written in, so that equal paths are equal texts.
///
/// Whole segments, `/` at both ends, no empty and no dot segment, percent-encoding in upper case and only for what can't
/// stand as itself (RFC 3986 §6.2.2), UTF-8 underneath. A path out of this form would never match a request: the gateway
/// refuses such requests.
enum PathForm {
    static func check(_ path: String) throws(ValueError) {
        let bytes = Array(path.utf8)
        guard bytes.first == 0x2F else { throw ValueError("must begin with /") }
        if bytes.contains(0x3F) { throw ValueError("must not have a query") }
        if bytes.contains(0x23) { throw ValueError("must not have a fragment") }
        guard bytes.last == 0x2F else { throw ValueError("must end in /") }
        guard bytes.count > 1 else { return }
        let segments = bytes[1..<(bytes.count - 1)].split(separator: 0x2F, omittingEmptySubsequences: false)
        for segment in segments {
            guard !segment.isEmpty else { throw ValueError("has an empty segment (//)") }
            let decoded = try Self.decode(segment)
            try Self.refuseDots(decoded)
            guard String(validating: decoded, as: UTF8.self) != nil else {
                throw ValueError("percent-encodes bytes that are not UTF-8")
            }
        }
    }

    private static func decode(_ segment: ArraySlice<UInt8>) throws(ValueError) -> [UInt8] {
        var decoded: [UInt8] = []
        var index = segment.startIndex
        while index < segment.endIndex {
            let byte = segment[index]
            guard byte == 0x25 else {
                guard byte.isPathCharacter else {
                    throw ValueError("holds a character that must be percent-encoded")
                }
                decoded.append(byte)
                index += 1
                continue
            }
            let digits = segment[(index + 1)...].prefix(2)
            guard digits.count == 2, let high = digits.first?.hexadecimalValue, let low = digits.last?.hexadecimalValue
            else { throw ValueError("has a % that two hexadecimal digits must follow") }
            let value = high << 4 | low
            if digits.contains(where: { $0 > 0x60 }) {
                throw ValueError("must percent-encode with upper-case digits")
            }
            if value.isPathCharacter {
                let triplet = "%" + String(decoding: digits, as: UTF8.self)
                throw ValueError("must write \(triplet) as \(Character(Unicode.Scalar(value)))")
            }
            guard value >= 0x20, value != 0x7F else { throw ValueError("percent-encodes a control character") }
            decoded.append(value)
            index += 3
        }
        return decoded
    }

    /// Encoded slashes don't separate segments here, but they do behind some upstreams, and `;` begins a parameter.
    private static func refuseDots(_ segment: [UInt8]) throws(ValueError) {
        for piece in segment.split(whereSeparator: { $0 == 0x2F || $0 == 0x5C }) {
            let name = piece.prefix { $0 != 0x3B }
            if name.elementsEqual([0x2E]) || name.elementsEqual([0x2E, 0x2E]) {
                throw ValueError("must not have . or .. as a segment")
            }
        }
    }
}
