internal import CShims
package import NIOCore

/// Memory of buffers that have been sent, for the next buffers of their kind: as many as one tick of a loop sends.
package struct SpareBuffers {
    /// A tick that sends more buffers allocates new memory.
    private static let limit = 64
    /// Largest buffer kept, in bytes: the memory of one large head is not kept for small ones.
    private static let largest = 8 << 10

    private var buffers: [ByteBuffer] = []

    package init() {
        self.buffers.reserveCapacity(Self.limit)
    }

    /// A buffer to write to. It may still hold bytes that were sent, and may be shared with another owner. Clear it
    /// first: if it is shared, that allocates new memory.
    package mutating func take() -> ByteBuffer {
        // A buffer that also stayed in the list would be shared.
        self.buffers.popLast() ?? ByteBuffer()
    }

    /// Keeps the memory of a sent buffer that held a token. Its bytes are overwritten, since the next head may come
    /// much later. Nobody else may hold the buffer any more.
    package mutating func keepWiped(_ buffer: consuming ByteBuffer) {
        buffer.wipe()
        self.keep(buffer)
    }

    /// Overwrites and frees all of the memory that nobody else holds.
    package mutating func wipe() {
        while var buffer = self.buffers.popLast() { buffer.wipe() }
    }

    /// Keeps the memory of a buffer that is sent now.
    package mutating func keep(_ buffer: ByteBuffer) {
        if self.buffers.count < Self.limit, buffer.capacity <= Self.largest { self.buffers.append(buffer) }
    }
}

extension ByteBuffer {
    /// Empties the buffer and overwrites the bytes it held.
    ///
    /// If another owner shares the memory, that memory stays as it is, and this buffer gets memory of its own.
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

    /// Appends bytes just read, and drops the consumed bytes in front of those that wait. Otherwise a stream whose
    /// every read ends inside a chunk size would keep all bytes ever received.
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
