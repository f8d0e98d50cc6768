internal import Glibc
internal import Testing

/// A named pipe that is full, and that nobody reads until the test does.
package final class StuckPipe: Sendable {
    /// What a program may be given as its output.
    package let path: String
    private let descriptor: CInt

    /// Makes the pipe in `directory`, and fills it with line feeds.
    package init(_ name: String, in directory: TemporaryDirectory) throws {
        try directory.makePipe(name)
        self.path = directory.path(of: name)
        // Opened for both, so that writers find a reader.
        self.descriptor = unsafe open(self.path, O_RDWR | O_NONBLOCK)
        try #require(self.descriptor >= 0)
        for size in [4_096, 1] {
            let filling = [UInt8](repeating: UInt8(ascii: "\n"), count: size)
            while unsafe filling.withUnsafeBytes({ unsafe write(self.descriptor, $0.baseAddress, $0.count) }) > 0 {}
        }
    }

    deinit { close(self.descriptor) }

    /// For a writer of this process: another descriptor of the pipe, whose writes wait. The caller closes it.
    package func openForWriting() throws -> CInt {
        let descriptor = unsafe open(self.path, O_WRONLY)
        try #require(descriptor >= 0)
        return descriptor
    }

    /// Takes what is in the pipe now; the filling is empty lines at the beginning.
    package func read() -> String {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe piece.withUnsafeMutableBytes {
                unsafe Glibc.read(self.descriptor, $0.baseAddress, $0.count)
            }
            guard count > 0 else { break }
            bytes += piece[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
