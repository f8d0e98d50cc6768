/// The normal form of paths of routes and upstreams, in which equal paths are equal texts.
///
/// A path has `/` at both ends, no empty segments and no dot segments. Percent-encoding has upper-case digits and
/// occurs only for characters that need it (RFC 3986 §6.2.2). The decoded bytes are UTF-8. A route with any other path
/// would never match, because the gateway refuses requests with such paths.
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

    /// An encoded slash doesn't separate segments here, but some upstreams decode it. `;` begins a parameter.
    private static func refuseDots(_ segment: [UInt8]) throws(ValueError) {
        for piece in segment.split(whereSeparator: { $0 == 0x2F || $0 == 0x5C }) {
            let name = piece.prefix { $0 != 0x3B }
            if name.elementsEqual([0x2E]) || name.elementsEqual([0x2E, 0x2E]) {
                throw ValueError("must not have . or .. as a segment")
            }
        }
    }
}

/// Why a text is not a valid value. It becomes a ``SettingsFinding`` once its position is known.
package struct ValueError: Error {
    /// The text that follows the value's path: "must end in /".
    package let message: String

    init(_ message: String) { self.message = message }
}

/// The form of names of providers, accounts and routes: `[A-Za-z0-9._-]{1,64}`, except `.` and `..`.
///
/// Names occur in metric labels, log lines and paths of the admin API, so no other characters are allowed.
enum ConfiguredName {
    static func check(_ name: String) throws(ValueError) {
        let bytes = name.utf8
        let isPlain = bytes.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == 0x2E || $0 == 0x5F || $0 == 0x2D }
        guard isPlain, (1...64).contains(bytes.count) else {
            throw ValueError("a name has 1 to 64 letters, digits, dots, underscores or hyphens")
        }
        guard name != ".", name != ".." else { throw ValueError("a name must be more than dots") }
    }
}

/// The port number after the colon of an address.
enum PortNumber {
    /// 0 (the system chooses) to 65535, in digits only.
    static func parse(_ text: some StringProtocol) throws(ValueError) -> Int {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit), let port = Int(text),
            port <= 65_535
        else {
            throw ValueError(
                "has no port between 0 and 65535 behind its last colon; an IPv6 address needs brackets: [::1]"
            )
        }
        return port
    }
}

/// The SHA-256 of a caller's key, as written in the file.
enum KeyDigest {
    /// The digest of empty input, for example from hashing an empty variable.
    private static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    /// Parses 64 hexadecimal digits into 32 bytes.
    static func parse(_ text: String) throws(ValueError) -> [UInt8] {
        let digits = text.utf8.compactMap(\.hexadecimalValue)
        // The wrong value may be the key itself, so the message doesn't repeat it.
        guard text.utf8.count == 64, digits.count == 64 else {
            throw ValueError("expected 64 hexadecimal digits, the SHA-256 of the key: martlet callers new makes both")
        }
        guard text.lowercased() != Self.empty else {
            throw ValueError("is the SHA-256 of the empty string, not of a key")
        }
        return stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}

/// The rules for the name and the prefix of the field that carries the token.
enum InjectedField {
    /// Fields that determine a request's end or destination, or that concern a single connection (RFC 9110 §7.6.1). The
    /// gateway itself writes or removes them.
    private static let reserved: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "te", "trailer",
        "upgrade", "http2-settings", "proxy-authorization", "proxy-authenticate", "expect", "via", "forwarded",
        "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
    ]

    static func checkName(_ name: String) throws(ValueError) {
        guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenCharacter) else {
            throw ValueError("is not the name of a field: letters, digits and !#$%&'*+-.^_`|~ only")
        }
        let read = Self.read(name)
        guard !Self.reserved.contains(read), !read.hasPrefix("martlet-") else {
            throw ValueError("is a field that the gateway itself writes or removes")
        }
    }

    /// The name as upstreams may read it: many treat `_` and `-` as the same character.
    static func read(_ name: String) -> String { name.lowercased().replacing("_", with: "-") }

    static func checkPrefix(_ prefix: String) throws(ValueError) {
        guard prefix.utf8.allSatisfy(\.isPrintable) else { throw ValueError("must be printable ASCII") }
        guard !prefix.hasPrefix(" ") else { throw ValueError("must not begin with a space") }
    }
}

// Character classes for the validation of configuration values.

extension UInt8 {
    private static let tokenMarks = Set("!#$%&'*+-.^_`|~".utf8)
    private static let subDelimiters = Set("!$&'()*+,;=".utf8)

    var isASCIILetter: Bool { (self | 0x20) &- 0x61 < 26 && self < 0x80 }
    var isASCIIDigit: Bool { self &- 0x30 < 10 }

    /// `tchar` (RFC 9110 §5.6.2).
    var isTokenCharacter: Bool { self.isASCIILetter || self.isASCIIDigit || Self.tokenMarks.contains(self) }

    /// `unreserved` (RFC 3986 §2.3).
    var isUnreserved: Bool {
        self.isASCIILetter || self.isASCIIDigit || self == 0x2D || self == 0x2E || self == 0x5F || self == 0x7E
    }

    /// `pchar` without `pct-encoded` (RFC 3986 §3.3): a character that a path contains unencoded.
    var isPathCharacter: Bool {
        self.isUnreserved || Self.subDelimiters.contains(self) || self == 0x3A || self == 0x40
    }

    /// Printable ASCII, including the space.
    var isPrintable: Bool { self >= 0x20 && self < 0x7F }

    /// The value of a hexadecimal digit, in upper or lower case.
    var hexadecimalValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}
