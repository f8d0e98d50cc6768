import NIOCore

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
            // 15 digits stay below 2^60; leading zeroes count, so a line can't be endless either.
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
