internal import CShims
package import NIOCore

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
