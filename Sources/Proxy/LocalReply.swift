package import NIOCore

/// An answer that the gateway gives itself.
package struct LocalReply {
    /// Head and body, without a `Date`: the same at any time.
    package let bytes: ByteBuffer
    /// The first of the ``bytes``: the status line with its CRLF.
    let statusLineLength: Int
    /// The last of the ``bytes`` that are the body's.
    package let bodyLength: Int

    /// Head and body as they go out.
    ///
    /// - Parameter date: the line for it, with its CRLF.
    package func bytes(with date: ByteBuffer) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.reserveCapacity(self.bytes.readableBytes + date.readableBytes)
        var rest = self.bytes
        if let statusLine = rest.readSlice(length: self.statusLineLength) { bytes.writeImmutableBuffer(statusLine) }
        bytes.writeImmutableBuffer(date)
        bytes.writeImmutableBuffer(rest)
        return bytes
    }
}
