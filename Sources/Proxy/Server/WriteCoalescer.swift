package import NIOCore

/// What goes out on one connection with its next flush: heads and small pieces behind each other in one buffer, so that
/// they cost one write and one way through the pipeline.
package struct WriteCoalescer {
    /// Copying up to this much is cheaper than another write, in bytes.
    private static let limit = 4 << 10
    /// From so much on a flush at once costs less than one that wakes its reader together with others: what was just read
    /// is in the processor's own memory still, and the next read can take the same buffer. In bytes.
    private static let large = 16 << 10

    private var buffer = ByteBuffer()
    /// A head is in what waits: its memory is such as the next head can take, and may hold a token.
    package private(set) var holdsHead = false
    /// What was given back to be written ahead of that, since the last flush, in bytes.
    private var ahead = 0

    package init() {}

    /// So much waits for the next flush that it had better come at once.
    package var isLarge: Bool { self.ahead + self.buffer.readableBytes >= Self.large }

    /// What ``put(_:isHead:)`` gives back, to be written ahead of the piece.
    package struct Full {
        package let bytes: ByteBuffer
        package let holdsHead: Bool
    }

    /// Puts a piece behind what waits here.
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

    /// What the buffer itself does to grow may leave a copy in memory that it gives back.
    private mutating func growWiping(by count: Int) {
        guard self.buffer.writableBytes < count else { return }
        var larger = ByteBuffer()
        larger.reserveCapacity(Self.limit)
        larger.writeImmutableBuffer(self.buffer)
        swap(&larger, &self.buffer)
        larger.wipe()
    }

    /// Takes all of it out, for a write and a flush. Ask ``holdsHead`` before.
    package mutating func take() -> ByteBuffer? {
        self.ahead = 0
        guard self.buffer.readableBytes > 0 else { return nil }
        let buffer = self.buffer
        // Else the memory would be shared, and the next head have to take new.
        self.buffer = ByteBuffer()
        self.holdsHead = false
        return buffer
    }

    /// Throws away what waits.
    package mutating func clear() {
        self.ahead = 0
        if self.holdsHead { self.buffer.wipe() }
        self.buffer = ByteBuffer()
        self.holdsHead = false
    }
}
