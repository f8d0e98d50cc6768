package import NIOCore

/// The field lines behind the last chunk (RFC 9112 §7.1.2), checked for their syntax.
package struct Trailers: Equatable, Sendable {
    /// The lines with the final empty line; ranges count from its reader index.
    package let bytes: ByteBuffer
    /// In order, none judged for its meaning: whoever writes them on leaves out what may not pass.
    package let fields: [Field]

    init(bytes: ByteBuffer, fields: [Field]) {
        self.bytes = bytes
        self.fields = fields
    }
}
