import NIOCore

/// Puts one head together out of the pieces it comes in.
///
/// What is thrown depends on the bytes alone, not on the pieces: the start line is judged before the lines that follow it,
/// and once, as soon as it is there.
struct HeadAssembly<StartLine> {
    /// The whole head with its final empty line, and what its first line says.
    struct Head {
        let bytes: ByteBuffer
        let line: StartLine
    }

    private(set) var scanner = HeadScanner()
    private var line: StartLine?

    /// Takes a head from the front of `buffer`, or returns `nil` while it is not whole.
    ///
    /// - Parameter judge: reads the start line, given the offset behind its CRLF, or `nil` while that has not come.
    mutating func take(
        _ buffer: inout ByteBuffer,
        limit: Int,
        judge: (_ bytes: Span<UInt8>, _ scanner: HeadScanner) throws(WireError) -> StartLine?
    ) throws(WireError) -> Head? {
        let end = try self.end(in: buffer.readableBytesUInt8Span, limit: limit, judge: judge)
        guard let line = self.line, let end else {
            // Also what is no line yet: a small limit for the head may be below that of a line.
            guard buffer.readableBytes < limit else { throw WireError(WireRule.headTooLarge) }
            return nil
        }
        self = HeadAssembly()
        return buffer.readSlice(length: end).map { Head(bytes: $0, line: line) }
    }

    /// Where the head ends, or `nil` while that has not come; with the start line read where that has come.
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
