import NIOCore

/// A head with a token that was given to the channel, until that has let go of it: then it is overwritten.
struct LentHead {
    private var bytes: ByteBuffer?

    mutating func lend(_ bytes: ByteBuffer) { self.bytes = bytes }

    /// The channel has sent it.
    mutating func takeBack(to spare: inout SpareBuffers) {
        guard let bytes = self.bytes.take() else { return }
        spare.keepWiped(consume bytes)
    }

    /// The channel has sent it, or is gone, and its memory is nobody's.
    mutating func wipe() {
        self.bytes?.wipe()
        self.bytes = nil
    }
}
