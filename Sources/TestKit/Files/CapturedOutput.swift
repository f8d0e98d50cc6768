internal import Glibc
internal import Testing

/// A file descriptor whose written text can be read back.
package final class CapturedOutput: Sendable {
    /// The descriptor to write to. It is closed with this object.
    package let descriptor: CInt

    /// Opens an unnamed temporary file.
    package init() throws {
        var name = Array("/tmp/martlet-test-XXXXXX".utf8CString)
        self.descriptor = unsafe mkstemp(&name)
        try #require(self.descriptor >= 0)
        unsafe unlink(&name)
    }

    deinit { close(self.descriptor) }

    /// All text written so far.
    package var text: String {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let offset = off_t(bytes.count)
            let count = unsafe piece.withUnsafeMutableBytes {
                unsafe pread(self.descriptor, $0.baseAddress, $0.count, offset)
            }
            guard count > 0 else { break }
            bytes += piece[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The complete lines so far, without their line ends.
    package var lines: [String] {
        self.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
}
