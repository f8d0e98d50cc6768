import HTTPWire
import NIOCore

// Tests write bytes as text, one scalar for each byte, so that a table reads like the bytes on the wire.

/// The bytes of `text`, one for each scalar up to U+00FF.
func bytes(_ text: String) -> [UInt8] {
    text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
}

/// A message head: each line with its CRLF, then the empty line.
func head(_ lines: [String]) -> [UInt8] {
    bytes(lines.map { $0 + "\r\n" }.joined() + "\r\n")
}

/// The reverse of ``bytes(_:)``.
func text(_ bytes: some Sequence<UInt8>) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: bytes.map { Unicode.Scalar($0) })
    return String(text)
}

func text(_ buffer: ByteBuffer) -> String { text(buffer.readableBytesView) }

/// The text at `range`, counted from the buffer's reader index.
func text(_ range: ByteRange, of buffer: ByteBuffer) -> String {
    text(buffer.getBytes(at: buffer.readerIndex + range.lower, length: range.count) ?? bytes("<outside>"))
}
