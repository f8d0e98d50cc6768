import NIOCore

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
