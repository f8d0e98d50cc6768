package import NIOCore

/// The memory of a buffer that has gone out, for the next one of its kind.
package struct SpareBuffer {
    private var buffer = ByteBuffer()

    package init() {}

    /// A buffer to write to. It may still hold what went out, and be somebody else's too: clear it first, which takes new
    /// memory then.
    package mutating func take() -> ByteBuffer {
        let buffer = self.buffer
        // Else this copy would make it shared.
        self.buffer = ByteBuffer()
        return buffer
    }

    /// Keeps the memory of a buffer that goes out now.
    package mutating func keep(_ buffer: ByteBuffer) {
        self.buffer = buffer
    }
}
