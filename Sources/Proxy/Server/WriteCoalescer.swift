package import NIOCore

/// Collects a connection's output until its next flush: heads and small pieces follow each other in one buffer, so that
/// they cost one write and one pass through the pipeline.
package struct WriteCoalescer {
    /// Up to this many bytes, a copy is cheaper than another write.
    private static let limit = 4 << 10
    /// From this many bytes on, a flush at once costs less than one that wakes the reader together with others: the
    /// bytes just read are still in the processor's cache, and the next read can reuse the buffer.
    private static let large = 16 << 10

    private var buffer = ByteBuffer()
    /// The waiting bytes include a head: the next head can reuse their memory, which may hold a token.
    package private(set) var holdsHead = false
    /// Bytes that were returned since the last flush to be written ahead of ``buffer``.
    private var ahead = 0

    package init() {}

    /// Whether so many bytes wait for the next flush that it should come at once.
    package var isLarge: Bool { self.ahead + self.buffer.readableBytes >= Self.large }

    /// What ``put(_:isHead:)`` returns to be written ahead of the piece.
    package struct Full {
        package let bytes: ByteBuffer
        package let holdsHead: Bool
    }

    /// Appends a piece to the waiting bytes.
    ///
    /// - Returns: what must be written now, ahead of the piece.
    package mutating func put(_ piece: ByteBuffer, isHead: Bool = false) -> Full? {
        guard self.buffer.readableBytes > 0 else {
            self.buffer = piece
            self.holdsHead = isHead
            return nil
        }
        if self.buffer.readableBytes + piece.readableBytes <= Self.limit {
            if self.holdsHead { self.growWiping(by: piece.readableBytes) }
            self.buffer.writeImmutableBuffer(piece)
            self.holdsHead = self.holdsHead || isHead
            return nil
        }
        let full = Full(bytes: self.buffer, holdsHead: self.holdsHead)
        self.ahead += full.bytes.readableBytes
        self.buffer = piece
        self.holdsHead = isHead
        return full
    }

    /// Grows the buffer without leaving a token behind: the buffer's own growth may leave a copy in freed memory.
    private mutating func growWiping(by count: Int) {
        guard self.buffer.writableBytes < count else { return }
        var larger = ByteBuffer()
        larger.reserveCapacity(Self.limit)
        larger.writeImmutableBuffer(self.buffer)
        swap(&larger, &self.buffer)
        larger.wipe()
    }

    /// Takes all waiting bytes, for a write and a flush. Read ``holdsHead`` first.
    package mutating func take() -> ByteBuffer? {
        self.ahead = 0
        guard self.buffer.readableBytes > 0 else { return nil }
        let buffer = self.buffer
        // Otherwise the memory would be shared, and the next head would need new memory.
        self.buffer = ByteBuffer()
        self.holdsHead = false
        return buffer
    }

    /// Discards the waiting bytes.
    package mutating func clear() {
        self.ahead = 0
        if self.holdsHead { self.buffer.wipe() }
        self.buffer = ByteBuffer()
        self.holdsHead = false
    }
}
