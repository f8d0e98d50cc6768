import NIOCore

// The tables write bytes as text whose scalars are the bytes, so that a table reads like the wire.
extension ByteBuffer {
    /// One byte for each scalar of `text`, up to U+00FF.
    init(latin1 text: String) {
        self.init(bytes: text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
    }

    /// The reverse of ``init(latin1:)``.
    var latin1: String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: self.readableBytesView.map { Unicode.Scalar($0) })
        return String(text)
    }
}
