import NIOCore

/// Assembles one head from the pieces in which it arrives.
///
/// The error thrown depends on the bytes alone, not on the pieces: the start line is judged once, as soon as it is
/// complete, and before the lines that follow it.
struct HeadAssembly<StartLine> {
    /// The whole head with its final empty line, and the meaning of its first line.
    struct Head {
        let bytes: ByteBuffer
        let line: StartLine
    }

    private(set) var scanner = HeadScanner()
    private var line: StartLine?

    /// Takes a head from the front of `buffer`, or returns `nil` while the head is incomplete.
    ///
    /// - Parameter judge: reads the start line, whose end the scanner knows; returns `nil` while the line is
    ///   incomplete.
    mutating func take(
        _ buffer: inout ByteBuffer,
        limit: Int,
        judge: (_ bytes: Span<UInt8>, _ scanner: HeadScanner) throws(WireError) -> StartLine?
    ) throws(WireError) -> Head? {
        let end = try self.end(in: buffer.readableBytesUInt8Span, limit: limit, judge: judge)
        guard let line = self.line, let end else {
            // This covers an incomplete line too: a small limit for the head may be below the limit of a line.
            guard buffer.readableBytes < limit else { throw WireError(WireRule.headTooLarge) }
            return nil
        }
        self = HeadAssembly()
        return buffer.readSlice(length: end).map { Head(bytes: $0, line: line) }
    }

    /// Where the head ends, or `nil` while it is incomplete. The start line is judged as soon as it is complete.
    private mutating func end(
        in bytes: Span<UInt8>,
        limit: Int,
        judge: (_ bytes: Span<UInt8>, _ scanner: HeadScanner) throws(WireError) -> StartLine?
    ) throws(WireError) -> Int? {
        let end: Int?
        do throws(WireError) {
            end = try self.scanner.end(in: bytes, limit: limit)
        } catch {
            if self.line == nil { self.line = try judge(bytes, self.scanner) }
            throw error
        }
        if self.line == nil { self.line = try judge(bytes, self.scanner) }
        return end
    }
}

/// Finds where a head ends, over any number of pieces, reading each byte once.
///
/// It accepts only CRLF as the end of a line, and throws at once for any other: with other line ends, a head would
/// never be complete.
struct HeadScanner {
    /// How many bytes were read, up to the end or to the error that was thrown.
    private(set) var scanned = 0
    private var lineStart = 0
    /// Offset behind the CRLF of the first line, once that line is complete.
    private(set) var firstLineEnd: Int?

    /// The number of bytes up to and including the empty line, or `nil` while that has not arrived.
    mutating func end(in bytes: Span<UInt8>, limit: Int) throws(WireError) -> Int? {
        let available = min(bytes.count, limit)
        var index = self.scanned
        while let found = bytes.firstLineFeed(from: index, to: available) {
            index = found
            guard index > 0, bytes[index - 1] == .carriageReturn else {
                self.scanned = index
                throw WireError(.bareLineFeed)
            }
            guard index < 2 || bytes[index - 2] != .carriageReturn else {
                self.scanned = index
                throw WireError(.doubledCarriageReturn)
            }
            let line = self.lineStart
            index += 1
            self.lineStart = index
            if self.firstLineEnd == nil {
                self.firstLineEnd = index
            } else if index - line == 2 {
                self.scanned = index
                return index
            }
        }
        self.scanned = available
        return nil
    }
}

/// How large a head may be, in bytes and fields.
package struct HeadLimits: Equatable, Sendable {
    /// The whole head with its final empty line.
    package var head: Int
    /// One field line with name, colon and value.
    package var field: Int
    /// Field lines in one head.
    package var fields: Int
    /// The request target. A request line may have 64 bytes more.
    package var target: Int

    /// All in bytes, except `fields`.
    package init(head: Int, field: Int, fields: Int, target: Int) {
        self.head = head
        self.field = field
        self.fields = fields
        self.target = target
    }

    /// Limits for callers' requests, unless the configuration says otherwise.
    package static let request = HeadLimits(head: 32 << 10, field: 16 << 10, fields: 200, target: 8 << 10)

    /// Limits for upstreams' responses.
    package static let response = HeadLimits(head: 64 << 10, field: 64 << 10, fields: 200, target: 0)
}

/// The memory of a head's fields, reused for the next head of the same connection. Most connections have one head at a
/// time, so by then nobody else holds that memory. If somebody does, or if the memory was large, the next head takes
/// new memory.
struct SpareFields {
    /// As many fields as most heads have.
    private static let usual = 12
    /// The most capacity that is kept while the connection waits: one head with more fields must not hold its memory.
    private static let most = 32

    private var fields: [Field] = []

    /// An empty list with reserved capacity.
    mutating func take() -> [Field] {
        var fields: [Field] = []
        swap(&fields, &self.fields)
        // Keeps the memory if nobody else holds it.
        fields.removeAll(keepingCapacity: true)
        fields.reserveCapacity(Self.usual)
        return fields
    }

    /// Keeps the memory of a head that is returned now.
    mutating func keep(_ fields: [Field]) {
        if fields.capacity <= Self.most { self.fields = fields }
    }
}

/// `HTTP/1.x` (RFC 9112 §2.3).
enum HTTPVersion {
    /// The minor version: a higher one than 1 is read as the highest that is understood here (RFC 9110 §2.5).
    ///
    /// - Throws: ``WireError/Code/versionUnsupported`` for another version of HTTP, ``WireError/Code/badRequest`` for
    ///   bytes that are no HTTP version.
    static func minor(_ range: ByteRange, in bytes: Span<UInt8>) throws(WireError) -> UInt8 {
        guard range.count == 8,
            bytes[range.lower] == 0x48, bytes[range.lower + 1] == 0x54, bytes[range.lower + 2] == 0x54,
            bytes[range.lower + 3] == 0x50, bytes[range.lower + 4] == .slash,
            bytes[range.lower + 5].isDigit, bytes[range.lower + 6] == .dot, bytes[range.lower + 7].isDigit
        else { throw .bad("no HTTP version where it belongs") }
        guard bytes[range.lower + 5] == 0x31 else { throw WireError(.httpVersion) }
        return bytes[range.lower + 7] == 0x30 ? 0 : 1
    }
}
