/// A request method (RFC 9110 §9): the known ones by name, any other token as it came.
package enum HTTPMethod: UInt8, Sendable {
    /// `other` is any further token, as ``RequestHead/methodName`` has it.
    case get, head, post, put, delete, options, patch, other

    /// Whether sending the request twice means no more than sending it once (RFC 9110 §9.2.2).
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .options: true
        case .post, .patch, .other: false
        }
    }

    /// Whether `range` names a method that anybody may use: `TRACE` would have the upstream send the token back.
    package static func isServed(_ range: ByteRange, in bytes: Span<UInt8>) -> Bool {
        for position in range.lower..<range.upper where !bytes[position].isToken { return false }
        return !range.isEmpty && !bytes.matches(range, "trace") && !bytes.matches(range, "connect")
    }

    /// - Throws: ``WireError/Code/methodNotAllowed`` for `TRACE` and `CONNECT`, ``WireError/Code/badRequest`` for a
    ///   known method in other than upper case, which some upstream would take for the known one.
    init(_ range: ByteRange, in bytes: Span<UInt8>) throws(WireError) {
        let (method, text): (HTTPMethod, StaticString) =
            switch (range.count, bytes[range.lower].lowercased) {
            case (3, 0x67): (.get, "get")
            case (3, 0x70) where bytes[range.lower + 1].lowercased == 0x75: (.put, "put")
            case (3, 0x70): (.other, "pri")
            case (4, 0x68): (.head, "head")
            case (4, 0x70): (.post, "post")
            case (5, 0x74): (.other, "trace")
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
        throw WireError(.methodNotAllowed, "TRACE and CONNECT are not served")
    }
}

extension UInt8 {
    fileprivate var uppercased: UInt8 { self &- 0x61 < 26 ? self & 0xDF : self }
}
