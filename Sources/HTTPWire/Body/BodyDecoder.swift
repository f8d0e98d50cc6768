package import NIOCore

/// Takes one message's body from a byte stream, with any framing. It returns slices of the bytes that came in.
package struct BodyDecoder: Sendable {
    /// What ``next(_:)`` found.
    package enum Step: Equatable, Sendable {
        /// Content. Never empty.
        case bytes(ByteBuffer)
        /// The end; nothing more will come. Has the field lines of a chunked body's trailer section, not checked for
        /// their meaning.
        case end(Trailers?)
        /// More bytes must come before the next step.
        case needsMore
    }

    private enum State: Sendable {
        case length(Int)
        case chunked(ChunkedDecoder)
        case untilClose
        case ended
    }

    private var state: State

    /// - Parameter framing: what the message's head says.
    package init(_ framing: BodyFraming) {
        switch framing {
        case .none, .length(0): self.state = .length(0)
        case .length(let length): self.state = .length(length)
        case .chunked: self.state = .chunked(ChunkedDecoder())
        case .untilClose: self.state = .untilClose
        }
    }

    /// The end has been returned.
    package var isEnded: Bool {
        if case .ended = self.state { true } else { false }
    }

    /// Whether the peer closing its side now is a clean end.
    package var endsWithClose: Bool {
        if case .untilClose = self.state { true } else { false }
    }

    /// Takes the next step from the front of `buffer`.
    ///
    /// - Throws: ``WireError/Code/badRequest`` for a malformed chunk, ``WireError/Code/headTooLarge`` for trailers over
    ///   16 KiB, 32 fields or 8 KiB in one field. The message is invalid then, whatever follows.
    package mutating func next(_ buffer: inout ByteBuffer) throws(WireError) -> Step {
        switch self.state {
        case .length(0):
            self.state = .ended
            return .end(nil)
        case .length(let left):
            guard let slice = buffer.readSlice(length: min(left, buffer.readableBytes)), slice.readableBytes > 0 else {
                return .needsMore
            }
            self.state = .length(left - slice.readableBytes)
            return .bytes(slice)
        case .chunked(var decoder):
            defer { if case .chunked = self.state { self.state = .chunked(decoder) } }
            let step = try decoder.next(&buffer)
            if case .end = step { self.state = .ended }
            return step
        case .untilClose:
            guard let slice = buffer.readSlice(length: buffer.readableBytes), slice.readableBytes > 0 else {
                return .needsMore
            }
            return .bytes(slice)
        case .ended:
            return .needsMore
        }
    }
}

/// Decodes `chunked` (RFC 9112 §7.1), strictly. Well-formed extensions are dropped, and bounded over the whole body.
///
///     size ──CRLF──▶ data ──all of it──▶ dataEnd ──CRLF──▶ size
///       └──size 0──▶ trailers ──empty line──▶ (end)
struct ChunkedDecoder: Sendable {
    private enum State: Sendable {
        case size
        case data(left: Int)
        case dataEnd
        case trailers
    }

    /// All extensions of a body together, in bytes.
    static let extensionLimit = 1 << 10
    private static let trailerLimits = HeadLimits(head: 16 << 10, field: 8 << 10, fields: 32, target: 0)

    private var state = State.size
    private var extensionBytes = 0
    private var scanner = HeadScanner()

    mutating func next(_ buffer: inout ByteBuffer) throws(WireError) -> BodyDecoder.Step {
        while true {
            switch self.state {
            case .size:
                guard let size = try self.readSize(&buffer) else { return .needsMore }
                self.state = size == 0 ? .trailers : .data(left: size)
            case .data(let left):
                guard let slice = buffer.readSlice(length: min(left, buffer.readableBytes)), slice.readableBytes > 0
                else { return .needsMore }
                self.state = slice.readableBytes == left ? .dataEnd : .data(left: left - slice.readableBytes)
                return .bytes(slice)
            case .dataEnd:
                guard try Self.readLineEnd(&buffer) else { return .needsMore }
                self.state = .size
            case .trailers:
                return try self.readTrailers(&buffer)
            }
        }
    }

    /// The size line: hexadecimal digits, then perhaps extensions.
    private mutating func readSize(_ buffer: inout ByteBuffer) throws(WireError) -> Int? {
        guard let line = try self.sizeLine(buffer.readableBytesUInt8Span) else { return nil }
        self.extensionBytes += line.extensionBytes
        buffer.moveReaderIndex(forwardBy: line.count)
        return line.size
    }

    private func sizeLine(
        _ bytes: Span<UInt8>
    ) throws(WireError) -> (size: Int, extensionBytes: Int, count: Int)? {
        var position = 0
        var size = 0
        while position < bytes.count, let digit = bytes[position].hexValue {
            // 15 digits stay below 2^60. Leading zeros count as digits, so that a line can't be endless either.
            guard position < 15 else { throw WireError(.chunkSizeTooLong) }
            size = size << 4 | Int(digit)
            position += 1
        }
        guard position < bytes.count else { return nil }
        guard position > 0 else { throw WireError(.chunkSize) }
        let extensionStart = position
        if bytes[position] == .semicolon {
            var extensions = ChunkExtensions(limit: Self.extensionLimit - self.extensionBytes)
            guard let end = try extensions.end(in: bytes, from: position) else { return nil }
            position = end
        }
        guard bytes[position] == .carriageReturn else { throw WireError(.chunkSize) }
        guard position + 1 < bytes.count else { return nil }
        guard bytes[position + 1] == .lineFeed else { throw WireError(.chunkSize) }
        return (size, position - extensionStart, position + 2)
    }

    /// Takes a CRLF, or returns `false` while it is not whole.
    private static func readLineEnd(_ buffer: inout ByteBuffer) throws(WireError) -> Bool {
        guard let first = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) else { return false }
        guard first == .carriageReturn else { throw WireError(.chunkEnd) }
        guard let second = buffer.getInteger(at: buffer.readerIndex + 1, as: UInt8.self) else { return false }
        guard second == .lineFeed else { throw WireError(.chunkEnd) }
        buffer.moveReaderIndex(forwardBy: 2)
        return true
    }

    private mutating func readTrailers(_ buffer: inout ByteBuffer) throws(WireError) -> BodyDecoder.Step {
        // Nearly always there are none.
        if self.scanner.scanned == 0 {
            let first = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self)
            guard first == .carriageReturn || first == nil else { return try self.readTrailerLines(&buffer) }
            return try Self.readLineEnd(&buffer) ? .end(nil) : .needsMore
        }
        return try self.readTrailerLines(&buffer)
    }

    private mutating func readTrailerLines(_ buffer: inout ByteBuffer) throws(WireError) -> BodyDecoder.Step {
        guard let end = try self.scanner.end(in: buffer.readableBytesUInt8Span, limit: Self.trailerLimits.head) else {
            guard buffer.readableBytes < Self.trailerLimits.head else {
                throw WireError(.trailersTooLarge)
            }
            return .needsMore
        }
        guard let slice = buffer.readSlice(length: end) else { return .needsMore }
        let section = FieldSection(limits: Self.trailerLimits, refusesLookalikes: false)
        var fields: [Field] = []
        try section.read(slice.readableBytesUInt8Span, from: 0, to: end, into: &fields)
        return .end(Trailers(bytes: slice, fields: fields))
    }
}

/// Reads past a chunk's extensions (RFC 9112 §7.1.1). The gateway knows none, but it refuses malformed ones: we can't
/// tell what another reader makes of them.
///
///     ";" ─▶ name ─┬─"="─▶ value ──────────┐
///             ▲    │   └─▶ " … \" … " ─────┤
///             └────┴───────────";"─────────┴──CR──▶ (end)
///
/// Spaces and tabs may stand around `;` and `=`, and nowhere else: not before the first `;`, nor before the CR.
struct ChunkExtensions {
    private enum Place {
        /// Behind `;`, before the name.
        case semicolon
        case name
        case spaceBehindName
        /// Behind `=`, before the value.
        case equals
        case value
        case quoted
        /// Behind a backslash.
        case escaped
        case closingQuote
        case spaceBehindValue
    }

    private let limit: Int
    private var place = Place.semicolon

    /// - Parameter limit: bytes that the extensions may take from the first `;` on.
    init(limit: Int) {
        self.limit = limit
    }

    /// Where the CR behind the extensions stands, or `nil` while that has not arrived. Call it once.
    ///
    /// - Parameter start: position of the first `;`.
    mutating func end(in bytes: Span<UInt8>, from start: Int) throws(WireError) -> Int? {
        var position = start
        // Each byte is checked in order, so that the first error is thrown, however much of the rest has arrived.
        while position < bytes.count {
            if position > start, bytes[position] == .carriageReturn, self.mayEnd { return position }
            guard position - start < self.limit else { throw WireError(.chunkExtensionsTooLarge) }
            if position > start {
                guard let place = self.place(behind: bytes[position]) else { throw WireError(.chunkExtension) }
                self.place = place
            }
            position += 1
        }
        return nil
    }

    private var mayEnd: Bool {
        switch self.place {
        case .name, .value, .closingQuote: true
        case .semicolon, .spaceBehindName, .equals, .quoted, .escaped, .spaceBehindValue: false
        }
    }

    private func place(behind byte: UInt8) -> Place? {
        let isSpace = byte == .space || byte == .tab
        return switch self.place {
        case .semicolon: isSpace ? .semicolon : byte.isToken ? .name : nil
        case .name where byte.isToken: .name
        case .name, .spaceBehindName:
            isSpace ? .spaceBehindName : byte == .equals ? .equals : byte == .semicolon ? .semicolon : nil
        case .equals: isSpace ? .equals : byte == .quote ? .quoted : byte.isToken ? .value : nil
        case .value where byte.isToken: .value
        case .value, .closingQuote, .spaceBehindValue:
            isSpace ? .spaceBehindValue : byte == .semicolon ? .semicolon : nil
        case .quoted where byte == .quote: .closingQuote
        case .quoted where byte == .backslash: .escaped
        case .quoted, .escaped: byte.isFieldValue ? .quoted : nil
        }
    }
}
