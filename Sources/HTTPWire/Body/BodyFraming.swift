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
    /// - Parameter mergesEqualLengths: the same length said again is one, in a field of its own or in a list (RFC 9112
    ///   §6.3); else a second is refused.
    /// - Throws: ``WireError/Code/badRequest`` for both at once, for two lengths, for a length that is not a plain
    ///   decimal number, and for a coding that is not ASCII; ``WireError/Code/notImplemented`` for a coding other than exactly `chunked`.
    static func declared(
        by fields: inout [Field],
        in bytes: Span<UInt8>,
        minorVersion: UInt8,
        mergesEqualLengths: Bool = false
    ) throws(WireError) -> BodyFraming? {
        var declared: BodyFraming?
        for index in fields.indices {
            switch fields[index].known {
            case .contentLength:
                let value = fields[index].value
                let length = mergesEqualLengths ? try Self.lengths(value, in: bytes) : try Self.length(value, in: bytes)
                switch declared {
                case nil: declared = .length(length)
                case .length(length) where mergesEqualLengths: break
                case .length where mergesEqualLengths: throw WireError(.contentLengthsDiffer)
                case .length: throw .bad("more than one Content-Length")
                case .some: throw WireError(.twoFramings)
                }
                fields[index].isStripped = true
            case .transferEncoding:
                if let declared { throw WireError(declared.isChunked ? .transferEncodingTwice : .twoFramings) }
                guard minorVersion == 1 else { throw WireError(.transferEncodingInHTTP10) }
                guard bytes.isASCII(fields[index].value) else { throw WireError(.transferEncodingBytes) }
                guard bytes.matches(fields[index].value, "chunked") else { throw WireError(.transferEncoding) }
                declared = .chunked
            default: break
            }
        }
        return declared
    }

    /// A list of lengths that are all the same. An empty member is none.
    private static func lengths(_ range: ByteRange, in bytes: Span<UInt8>) throws(WireError) -> Int {
        var common: Int?
        var start = range.lower
        while true {
            var end = start
            while end < range.upper, bytes[end] != .comma { end += 1 }
            let length = try Self.length(bytes.trimmed(ByteRange(start, end)), in: bytes)
            guard common ?? length == length else { throw WireError(.contentLengthsDiffer) }
            guard end < range.upper else { return length }
            common = length
            start = end + 1
        }
    }

    private static func length(_ range: ByteRange, in bytes: Span<UInt8>) throws(WireError) -> Int {
        guard !range.isEmpty, range.count <= 18 else { throw WireError(.contentLength) }
        var length = 0
        for position in range.lower..<range.upper {
            guard bytes[position].isDigit else { throw WireError(.contentLength) }
            length = length * 10 + Int(bytes[position] & 0x0F)
        }
        return length
    }
}
