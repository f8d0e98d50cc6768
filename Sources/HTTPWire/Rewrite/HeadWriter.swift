import NIOCore

/// Writes a head, piece by piece, into memory that was reserved for it: whether that is somebody else's too is looked at
/// once, and not for each piece as a `ByteBuffer` does.
@safe struct HeadWriter: ~Copyable {
    private let memory: UnsafeMutableRawBufferPointer
    private let room: Int
    /// In bytes, with what had no room any more.
    fileprivate private(set) var count = 0

    fileprivate init(into memory: UnsafeMutableRawBufferPointer) {
        unsafe self.memory = memory
        self.room = memory.count
    }

    mutating func write(_ text: StaticString) {
        unsafe self.write(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func write(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe self.write($0) }
    }

    mutating func write(_ range: ByteRange, of source: Span<UInt8>) {
        guard !range.isEmpty else { return }
        unsafe source.extracting(range.lower..<range.upper).withUnsafeBytes { unsafe self.write($0) }
    }

    /// In decimal digits.
    mutating func write(_ number: Int) {
        if number >= 10 { self.write(number / 10) }
        let digit = 0x30 + UInt8(truncatingIfNeeded: number % 10)
        if self.count < self.room { unsafe self.memory[self.count] = digit }
        self.count += 1
    }

    /// CRLF.
    mutating func writeLineEnd() { self.write("\r\n") }

    private mutating func write(_ bytes: UnsafeRawBufferPointer) {
        let end = self.count + bytes.count
        if end <= self.room {
            unsafe UnsafeMutableRawBufferPointer(rebasing: self.memory[self.count..<end]).copyMemory(from: bytes)
        }
        self.count = end
    }
}

extension ByteBuffer {
    /// Puts what `body` writes behind what is there.
    ///
    /// - Parameters:
    ///   - estimate: how long it will be, in bytes.
    ///   - body: writes the same each time: where the estimate is too small it is called again, with the room it needs.
    mutating func writeHead(estimate: Int, _ body: (inout HeadWriter) -> Void) {
        var room = estimate
        var isWritten = false
        while !isWritten {
            unsafe self.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { memory in
                var writer = unsafe HeadWriter(into: memory)
                body(&writer)
                room = writer.count
                isWritten = writer.count <= memory.count
                return isWritten ? writer.count : 0
            }
        }
    }
}
