package import NIOCore

/// Small writes of one burst, gathered into one: a body in chunks of a byte would else cost a channel a hundred times its
/// bytes in bookkeeping.
package struct SmallWrites {
    /// What is larger goes by itself: copying it would cost more than a place in the channel's queue.
    private static let small = 64
    /// What is gathered is not counted by the channel, so it is little.
    private static let enough = 4 << 10

    private var gathered = ByteBuffer()

    package init() {}

    /// Takes `piece` if it is small; else it must be written, behind what ``take()`` gives.
    package mutating func gather(_ piece: ByteBuffer) -> Bool {
        guard piece.readableBytes <= Self.small, self.gathered.readableBytes < Self.enough else { return false }
        if self.gathered.readableBytes == 0 {
            self.gathered = piece
        } else {
            self.gathered.writeImmutableBuffer(piece)
        }
        return true
    }

    /// What was gathered, to be written now; `nil` where that is nothing.
    package mutating func take() -> ByteBuffer? {
        guard self.gathered.readableBytes > 0 else { return nil }
        let gathered = self.gathered
        self.gathered = ByteBuffer()
        return gathered
    }
}
