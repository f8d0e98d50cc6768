package import NIOCore

/// A request's head: its bytes and where everything stands in them. Made only by ``RequestHeadParser``, so each value
/// was judged as a whole.
package struct RequestHead: Sendable {
    /// The whole head with its final empty line; ranges count from its reader index.
    package let bytes: ByteBuffer
    /// The method, if it is a known one; otherwise ``HTTPMethod/other``.
    package let method: HTTPMethod
    /// The method as it came.
    package let methodName: ByteRange
    /// The request target, checked.
    package let target: RequestTarget
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    package let minorVersion: UInt8
    /// All fields in order, including those that are not forwarded.
    package let fields: [Field]
    /// How the body that follows ends; never ``BodyFraming/untilClose``.
    package let body: BodyFraming
    /// The host that the request names, by `Host` or by an absolute target, with its port; empty if an HTTP/1.0 request
    /// names none.
    package let host: ByteRange
    /// The caller keeps the connection open for another request.
    package let keepsAlive: Bool
    /// The caller waits for a 100 before it sends the body (RFC 9110 §10.1.1).
    package let expectsContinue: Bool
    /// The caller asks to switch this connection to WebSocket (RFC 6455 §4.1); any other upgrade is ignored.
    package let asksForWebSocket: Bool
    /// There is a `Cookie`.
    package let hasCookies: Bool
    /// There is a field that some upstreams take for the request's method; see ``KnownField/isMethodOverride``.
    package let overridesMethod: Bool
    /// There is a `Via`.
    let hasVia: Bool
    /// There is a field name with `_`.
    let hasUnderscores: Bool

    /// Whether sending it twice does no more than sending it once (RFC 9110 §9.2.2), also for an upstream that takes a
    /// field for the request's method.
    package var isIdempotent: Bool { self.method.isIdempotent && !self.overridesMethod }

    /// By how many more hops an OPTIONS request may be forwarded (RFC 9110 §7.6.2); `nil` for any number, and for other
    /// methods.
    package var maxForwards: Int? {
        guard self.method == .options else { return nil }
        let bytes = self.bytes.readableBytesUInt8Span
        guard let field = self.fields.first(where: { bytes.isMaxForwards($0) }) else { return nil }
        guard !field.value.isEmpty, field.value.count <= 9 else { return nil }
        var count = 0
        for position in field.value.lower..<field.value.upper {
            guard bytes[position].isDigit else { return nil }
            count = count * 10 + Int(bytes[position] & 0x0F)
        }
        return count
    }

    /// Whether an upstream that takes a field for the request's method may send a body where the response has none here
    /// (RFC 9110 §9.3.2).
    package var mayGetUnexpectedBody: Bool { self.method == .head && self.overridesMethod }

    /// The host without its port.
    ///
    /// - Parameter bytes: the head's own bytes, which the calling code has at hand.
    package func hostName(in bytes: Span<UInt8>) -> ByteRange { HostField.name(of: self.host, in: bytes) }
}

/// A request method (RFC 9110 §9): the known ones by name, any other token as it came.
package enum HTTPMethod: UInt8, Sendable {
    /// `other` is any further token, as ``RequestHead/methodName`` has it.
    case get, head, post, put, delete, options, patch, other

    /// Whether sending the request twice does no more than sending it once (RFC 9110 §9.2.2).
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .options: true
        case .post, .patch, .other: false
        }
    }

    /// Whether `range` names a method that callers may use. `TRACE`, which some servers call `TRACK`, would have the
    /// upstream send the token back.
    package static func isServed(_ range: ByteRange, in bytes: Span<UInt8>) -> Bool {
        for position in range.lower..<range.upper where !bytes[position].isToken { return false }
        return !range.isEmpty && !["trace", "track", "connect"].contains { bytes.matches(range, $0) }
    }

    /// - Throws: ``WireError/Code/methodNotAllowed`` for `TRACE`, `TRACK` and `CONNECT`, ``WireError/Code/badRequest``
    ///   for a known method that is not in upper case, which some upstreams would take for the known one.
    init(_ range: ByteRange, in bytes: Span<UInt8>) throws(WireError) {
        let (method, text): (HTTPMethod, StaticString) =
            switch (range.count, bytes[range.lower].lowercased) {
            case (3, 0x67): (.get, "get")
            case (3, 0x70) where bytes[range.lower + 1].lowercased == 0x75: (.put, "put")
            case (3, 0x70): (.other, "pri")
            case (4, 0x68): (.head, "head")
            case (4, 0x70): (.post, "post")
            case (5, 0x74): (.other, bytes[range.upper - 1].lowercased == 0x6B ? "track" : "trace")
            case (5, 0x70): (.patch, "patch")
            case (6, 0x64): (.delete, "delete")
            case (7, 0x63): (.other, "connect")
            case (7, 0x6F): (.options, "options")
            default: (.other, "")
            }
        guard bytes.matches(range, text) else {
            self = .other
            return
        }
        for position in range.lower..<range.upper where bytes[position] != bytes[position].uppercased {
            throw .bad("a known method in lower case")
        }
        guard method == .other else {
            self = method
            return
        }
        guard range.count != 3 else { throw .bad("an HTTP/2 preface") }
        throw WireError(.methodNotAllowed, "TRACE, TRACK and CONNECT are not served")
    }
}

extension UInt8 {
    fileprivate var uppercased: UInt8 { self &- 0x61 < 26 ? self & 0xDF : self }
}

/// Reads `Upgrade` for WebSocket (RFC 6455 §4), the one protocol that connections may switch to here.
enum WebSocketUpgrade {
    /// Whether a request offers WebSocket, among others or alone. The others are not forwarded.
    static func isOffered(by fields: [Field], in bytes: Span<UInt8>) -> Bool {
        for field in fields where field.known == .upgrade {
            var protocols = ListMembers(of: field.value)
            while let name = protocols.next(in: bytes) {
                if Self.isMeant(by: name, in: bytes) { return true }
            }
        }
        return false
    }

    /// Whether a response accepts WebSocket, and nothing else: otherwise we can't tell what the bytes after it are.
    static func isTaken(by fields: [Field], in bytes: Span<UInt8>) -> Bool {
        var isTaken = false
        for field in fields where field.known == .upgrade {
            guard !isTaken, Self.isMeant(by: field.value, in: bytes) else { return false }
            isTaken = true
        }
        return isTaken
    }

    private static func isMeant(by name: ByteRange, in bytes: Span<UInt8>) -> Bool {
        bytes.matches(name, "websocket")
    }
}

extension Span<UInt8> {
    /// Whether a field makes a request conditional, or asks for a part (RFC 9110 §13.1, §14.2).
    func isCondition(_ field: Field) -> Bool {
        guard field.known == .other else { return false }
        return switch field.name.count {
        case 5: self.matches(field.name, "range")
        case 8: self.matches(field.name, "if-match") || self.matches(field.name, "if-range")
        case 13: self.matches(field.name, "if-none-match")
        case 17: self.matches(field.name, "if-modified-since")
        case 19: self.matches(field.name, "if-unmodified-since")
        default: false
        }
    }
}

extension Span<UInt8> {
    /// Whether a field is a `Max-Forwards` that may go upstream (RFC 9110 §7.6.2).
    func isMaxForwards(_ field: Field) -> Bool { !field.isStripped && self.matches(field.name, "max-forwards") }
}
