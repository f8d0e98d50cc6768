package import NIOCore

/// What goes out on one connection with its next flush: heads and small pieces behind each other in one buffer, so that
/// they cost one write and one way through the pipeline.
package struct Outbox {
    /// Copying up to this much is cheaper than another write, in bytes.
    private static let limit = 4 << 10
    /// From so much on a flush at once costs less than one that wakes its reader together with others: what was just read
    /// is in the processor's own memory still, and the next read can take the same buffer. In bytes.
    private static let large = 16 << 10

    private var buffer = ByteBuffer()
    /// It began with a head, in memory that the next head can take.
    private var beganWithHead = false
    /// What was given back to be written ahead of that, since the last flush, in bytes.
    private var ahead = 0

    package init() {}

    /// So much waits for the next flush that it had better come at once.
    package var isLarge: Bool { self.ahead + self.buffer.readableBytes >= Self.large }

    /// Puts a piece behind what waits here.
    ///
    /// - Returns: what must be written now, ahead of the piece.
    package mutating func put(_ piece: ByteBuffer, isHead: Bool = false) -> ByteBuffer? {
        guard self.buffer.readableBytes > 0 else {
            self.buffer = piece
            self.beganWithHead = isHead
            return nil
        }
        if self.buffer.readableBytes + piece.readableBytes <= Self.limit {
            self.buffer.writeImmutableBuffer(piece)
            return nil
        }
        let full = self.buffer
        self.ahead += full.readableBytes
        self.buffer = piece
        self.beganWithHead = isHead
        return full
    }

    /// Takes all of it out, for a write and a flush.
    ///
    /// - Parameter spare: gets the memory back, if it is a head's.
    package mutating func take(_ spare: inout SpareBuffers) -> ByteBuffer? {
        self.ahead = 0
        guard self.buffer.readableBytes > 0 else { return nil }
        let buffer = self.buffer
        // Else the memory would be shared, and the next head have to take new.
        self.buffer = ByteBuffer()
        if self.beganWithHead { spare.keep(buffer) }
        return buffer
    }

    /// Throws away what waits.
    package mutating func clear() {
        self.ahead = 0
        self.buffer = ByteBuffer()
    }
}
