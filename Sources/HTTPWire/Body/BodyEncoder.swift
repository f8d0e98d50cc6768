package import NIOCore

/// How the end of a body is marked (RFC 9112 §6).
package enum BodyFraming: Equatable, Sendable {
    /// There is no body.
    case none
    /// `Content-Length`, in bytes.
    case length(Int)
    /// `Transfer-Encoding: chunked`.
    case chunked
    /// Until the connection closes; responses only.
    case untilClose
}

/// Questions that are asked with each message have a property: the compiler makes `==`, and another module calls that
/// through a table.
extension BodyFraming {
    /// Whether no byte of a body follows.
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
    /// What `Content-Length` and `Transfer-Encoding` say, or `nil` if neither is there.
    ///
    /// - Parameter mergesEqualLengths: accepts a repetition of the same length, in a field of its own or in a list (RFC
    ///   9112 §6.3); otherwise a second length is refused.
    /// - Throws: ``WireError/Code/badRequest`` for both at once, for two lengths, for a length that is not a plain
    ///   decimal number, for a coding that is not ASCII, and for codings of which not exactly the last one is `chunked`
    ///   (RFC 9112 §6.3); ``WireError/Code/notImplemented`` for another coding below `chunked`.
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
                try Self.expectChunked(fields[index].value, in: bytes)
                declared = .chunked
            default: break
            }
        }
        return declared
    }

    private static func expectChunked(_ codings: ByteRange, in bytes: Span<UInt8>) throws(WireError) {
        var (members, isChunked, isAlone) = (ListMembers(of: codings), false, true)
        while let coding = members.next(in: bytes) {
            guard !isChunked else { throw WireError(.transferEncodingEnd) }
            isChunked = bytes.matches(coding, "chunked")
            if !isChunked { isAlone = false }
        }
        guard isChunked else { throw WireError(.transferEncodingEnd) }
        guard isAlone else { throw WireError(.transferEncoding) }
    }

    /// A list of lengths that are all the same. An empty member is refused.
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

/// Frames a body that is sent, and refuses what its framing does not allow: the last guard against a second message
/// hidden in the first.
package struct BodyEncoder: Sendable {
    private let framing: BodyFraming
    private var left: Int
    private var hasRefused = false
    /// The end has been written.
    package private(set) var isEnded = false

    /// - Parameter framing: what the message's head says.
    package init(_ framing: BodyFraming) {
        self.framing = framing
        self.left =
            switch framing {
            case .none: 0
            case .length(let length): length
            case .chunked, .untilClose: .max
            }
    }

    /// Whether the reader can tell by the framing that the body has been cut, if the connection ends now.
    package var showsCut: Bool {
        switch self.framing {
        case .length: self.left > 0
        case .chunked: !self.isEnded
        case .none, .untilClose: false
        }
    }

    /// What is written before and after `count` bytes of content.
    package enum Frame: Equatable, Sendable {
        /// The bytes go as they are.
        case plain
        /// A chunk: `before` in front of the bytes, CRLF behind them.
        case chunk(before: ByteBuffer)
        /// The bytes must not be sent: the message would be longer than its head says.
        case refused
    }

    /// Counts `count` bytes of content, and says how they are sent.
    ///
    /// After a refusal nothing more is sent, and the end is ``End/short``: the bytes left out can't be made up for.
    /// - Parameter count: 0 means no content: the result is ``Frame/plain``, and never a chunk, which would be the
    ///   last.
    package mutating func frame(_ count: Int) -> Frame {
        guard count != 0 else { return .plain }
        guard !self.isEnded, !self.hasRefused, count > 0, count <= self.left else {
            self.hasRefused = true
            return .refused
        }
        guard case .chunked = self.framing else {
            self.left -= count
            return .plain
        }
        var before = ByteBuffer()
        before.reserveCapacity(18)
        before.writeHexadecimal(count)
        before.writeLineEnd()
        return .chunk(before: before)
    }

    /// How the end is written.
    package enum End: Equatable, Sendable {
        /// Nothing is written.
        case silent
        /// The last chunk, with trailers or without.
        case lastChunk
        /// The end of the connection marks it.
        case close
        /// Fewer bytes came than the head says, or more, which were refused: the connection must be aborted, never
        /// ended cleanly.
        case short
    }

    /// Ends the body. A second call returns ``End/silent``.
    package mutating func end() -> End {
        guard !self.isEnded else { return .silent }
        self.isEnded = true
        guard !self.hasRefused else { return .short }
        return switch self.framing {
        case .none: .silent
        case .length: self.left == 0 ? .silent : .short
        case .chunked: .lastChunk
        case .untilClose: .close
        }
    }
}

extension ByteBuffer {
    /// CRLF.
    package mutating func writeLineEnd() {
        self.writeInteger(0x0D0A as UInt16)
    }

    mutating func writeHexadecimal(_ value: Int) {
        var shift = max(0, (Int.bitWidth - value.leadingZeroBitCount - 1) / 4 * 4)
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: value >> shift & 0x0F)
            self.writeInteger(digit < 10 ? 0x30 + digit : 0x57 + digit)
            shift -= 4
        }
    }
}
