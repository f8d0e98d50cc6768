package import NIOCore

/// An answer that the gateway gives itself.
package struct OwnAnswer {
    /// Head and body.
    package let bytes: ByteBuffer
    /// The last of the ``bytes`` that are the body's.
    package let bodyLength: Int
}
