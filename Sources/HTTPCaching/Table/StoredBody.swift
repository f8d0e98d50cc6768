package import NIOCore

/// The body of a stored response.
package final class StoredBody: Sendable {
    private let memory: [UInt8]

    package init(_ bytes: ByteBuffer) { self.memory = Array(bytes.readableBytesView) }

    /// Its length in bytes.
    package var count: Int { self.memory.count }

    /// Appends the bytes of `range`, which must lie within the body.
    package func copy(_ range: Range<Int>, into buffer: inout ByteBuffer) { buffer.writeBytes(self.memory[range]) }
}
