import NIOCore

extension ByteBuffer {
    /// CRLF, made once.
    static let lineEnd = ByteBuffer(string: "\r\n")
}
