/// How a body's end is told (RFC 9112 §6).
package enum BodyFraming: Equatable, Sendable {
    /// There is no body.
    case none
    /// `Content-Length`, in bytes.
    case length(Int)
    /// `Transfer-Encoding: chunked`.
    case chunked
    /// Until the connection closes; answers only.
    case untilClose
}

/// What is asked with each message has a name: `==` is made by the compiler, and another module calls it through a table.
extension BodyFraming {
    /// No byte of a body follows.
    package var isEmpty: Bool {
        switch self {
        case .none, .length(0): true
        case .length, .chunked, .untilClose: false
        }
    }

    package var isChunked: Bool { if case .chunked = self { true } else { false } }
    package var isUntilClose: Bool { if case .untilClose = self { true } else { false } }
}

extension BodyFraming {
    /// What `Content-Length` and `Transfer-Encoding` say, or `nil` where neither is there.
    ///
    /// - Throws: ``WireError/Code/badRequest`` for both at once, for two lengths, for a length that is not a plain
    ///   decimal number, and for a coding that is not ASCII; ``WireError/Code/notImplemented`` for a coding other than exactly `chunked`.
    static func declared(
        by fields: inout [Field],
        in bytes: Span<UInt8>,
        minorVersion: UInt8
    ) throws(WireError) -> BodyFraming? {
        var declared: BodyFraming?
        for index in fields.indices {
            switch fields[index].known {
            case .contentLength:
                guard declared == nil else { throw .bad("more than one field frames the body") }
                declared = .length(try Self.length(fields[index].value, in: bytes))
                fields[index].isStripped = true
            case .transferEncoding:
                guard declared == nil else { throw .bad("more than one field frames the body") }
                guard minorVersion == 1 else { throw .bad("Transfer-Encoding in HTTP/1.0") }
                guard bytes.isASCII(fields[index].value) else { throw .bad("bytes above 0x7F in a transfer coding") }
                guard bytes.matches(fields[index].value, "chunked") else {
                    throw WireError(.notImplemented, "a transfer coding other than chunked")
                }
                declared = .chunked
            default: break
            }
        }
        return declared
    }

    private static func length(_ range: ByteRange, in bytes: Span<UInt8>) throws(WireError) -> Int {
        guard !range.isEmpty, range.count <= 18 else { throw .bad("a Content-Length that is no length") }
        var length = 0
        for position in range.lower..<range.upper {
            guard bytes[position].isDigit else { throw .bad("a Content-Length that is no decimal number") }
            length = length * 10 + Int(bytes[position] & 0x0F)
        }
        return length
    }
}
