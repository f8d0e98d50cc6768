package import NIOCore

/// What goes out on one connection with its next flush: heads and small pieces behind each other in one buffer, so that
/// they cost one write and one way through the pipeline.
package struct Outbox {
    /// Copying up to this much is cheaper than another write, in bytes.
    private static let limit = 4 << 10

    private var buffer = ByteBuffer()
    /// It began with a head, in memory that the next head can take.
    private var beganWithHead = false

    package init() {}

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
        self.buffer = piece
        self.beganWithHead = isHead
        return full
    }

    /// Takes all of it out, for a write and a flush.
    ///
    /// - Parameter spare: gets the memory back, if it is a head's.
    package mutating func take(_ spare: inout SpareBuffers) -> ByteBuffer? {
        guard self.buffer.readableBytes > 0 else { return nil }
        let buffer = self.buffer
        // Else the memory would be shared, and the next head have to take new.
        self.buffer = ByteBuffer()
        if self.beganWithHead { spare.keep(buffer) }
        return buffer
    }

    /// Throws away what waits.
    package mutating func clear() {
        self.buffer = ByteBuffer()
    }
}
