internal import Crypto
import HTTPWire
internal import TextCoding

/// What a request authenticates its caller with: the one field that decides, and where the key stands in it.
///
/// `Martlet-Key` comes before `Authorization`, and the first field present decides, valid or not: a request must not be
/// able to try two keys.
struct PresentedKey {
    private enum Form {
        /// The key as it is.
        case plain
        /// `user:key` in Base64 (RFC 7617).
        case basic
        /// A scheme that carries no key.
        case foreign
    }

    /// Whether the key stands in `Martlet-Key`.
    let isOwnField: Bool
    /// The whole value of the field.
    let value: ByteRange
    private let form: Form
    private let key: ByteRange

    /// - Returns: `nil` if the request has neither field.
    init?(_ fields: [Field], in bytes: Span<UInt8>) {
        var authorization: ByteRange?
        var own: ByteRange?
        for field in fields {
            switch field.known {
            case .authorization: authorization = field.value
            case .martlet where bytes.matches(field.name, "martlet-key"): own = field.value
            default: continue
            }
        }
        if let own {
            self.isOwnField = true
            self.value = own
            self.form = .plain
            self.key = own
        } else if let authorization {
            self.isOwnField = false
            self.value = authorization
            (self.form, self.key) = Self.credentials(authorization, in: bytes)
        } else {
            return nil
        }
    }

    /// Splits the value into scheme and credentials (RFC 9110 §11.4).
    private static func credentials(_ value: ByteRange, in bytes: Span<UInt8>) -> (Form, ByteRange) {
        var end = value.lower
        while end < value.upper, bytes[end] != 0x20 { end += 1 }
        var start = end
        while start < value.upper, bytes[start] == 0x20 { start += 1 }
        let scheme = ByteRange(value.lower, end)
        let credentials = ByteRange(start, value.upper)
        if bytes.matches(scheme, "bearer") { return (.plain, credentials) }
        if bytes.matches(scheme, "basic") { return (.basic, credentials) }
        return (.foreign, .empty)
    }

    /// The key's digest; `nil` if the field holds no key, or an empty one.
    func digest(in bytes: Span<UInt8>) -> KeyDigest? {
        switch self.form {
        case .plain:
            guard !self.key.isEmpty else { return nil }
            return KeyDigest(of: bytes.extracting(self.key.lower..<self.key.upper))
        case .basic:
            guard let pair = Base64.decode(bytes.extracting(self.key.lower..<self.key.upper)),
                let colon = pair.firstIndex(of: 0x3A), colon + 1 < pair.count
            else { return nil }
            return KeyDigest(of: pair.span.extracting((colon + 1)...))
        case .foreign:
            return nil
        }
    }
}

/// The SHA-256 of a caller's key: all that the configuration knows of the key.
package struct KeyDigest: Hashable, Sendable {
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64
    private let fourth: UInt64

    /// The length of a digest, in bytes.
    package static let count = SHA256.Digest.byteCount

    /// A digest from the configuration; `nil` for any other number of bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.count else { return nil }
        unsafe self.init(bytes.span.bytes)
    }

    /// The digest of a key.
    package init(of key: Span<UInt8>) {
        var hash = SHA256()
        unsafe key.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        self = unsafe hash.finalize().withUnsafeBytes { unsafe Self($0.bytes) }
    }

    private init(_ bytes: RawSpan) {
        self.first = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self)
        self.second = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt64.self)
        self.third = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 16, as: UInt64.self)
        self.fourth = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 24, as: UInt64.self)
    }
}
