internal import CShims
package import NIOCore

/// The memory of buffers that have gone out, for the next ones of their kind: as many as one tick of a loop sends.
package struct SpareBuffers {
    /// A tick that sends more takes new memory.
    private static let limit = 64
    /// Of each, in bytes: what one large head took is not kept for small ones.
    private static let largest = 8 << 10

    private var buffers: [ByteBuffer] = []

    package init() {
        self.buffers.reserveCapacity(Self.limit)
    }

    /// A buffer to write to. It may still hold what went out, and be somebody else's too: clear it first, which takes new
    /// memory then.
    package mutating func take() -> ByteBuffer {
        // It must not stay here too: then it would be shared.
        self.buffers.popLast() ?? ByteBuffer()
    }

    /// Keeps the memory of a buffer that has gone out and held a token: that is overwritten, since the next head may be
    /// long in coming. Nobody else may have the buffer any more.
    package mutating func keepWiped(_ buffer: consuming ByteBuffer) {
        buffer.wipe()
        self.keep(buffer)
    }

    /// Keeps the memory of a buffer that goes out now.
    package mutating func keep(_ buffer: ByteBuffer) {
        if self.buffers.count < Self.limit, buffer.capacity <= Self.largest { self.buffers.append(buffer) }
    }
}

extension ByteBuffer {
    /// Empties the buffer and overwrites what it held.
    ///
    /// Where somebody else still has the memory, that stays as it is, and this takes memory of its own.
    package mutating func wipe() {
        let count = self.writerIndex
        guard count > 0 else { return }
        self.clear()
        unsafe self.withUnsafeMutableWritableBytes { bytes in
            if let base = bytes.baseAddress { unsafe martlet_zero(base, Swift.min(count, bytes.count)) }
        }
    }
}

extension ByteBuffer {
    /// CRLF, made once.
    static let lineEnd = ByteBuffer(string: "\r\n")

    /// Puts what was read behind the bytes that wait, without what was taken before them: a stream whose every read ends
    /// within a chunk's size would else keep all that ever came.
    mutating func append(_ read: ByteBuffer) {
        guard self.readableBytes > 0 else {
            self = read
            return
        }
        if self.readerIndex > 0 {
            var fresh = ByteBuffer()
            fresh.reserveCapacity(self.readableBytes + read.readableBytes)
            fresh.writeImmutableBuffer(self)
            self = fresh
        }
        self.writeImmutableBuffer(read)
    }
}
