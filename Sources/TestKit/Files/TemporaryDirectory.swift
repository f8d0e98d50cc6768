package import FoundationEssentials
internal import Glibc
internal import Testing

/// A directory for one test. It is removed with its contents when the object is released.
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// Creates an empty directory that only this user can access.
    package init() throws {
        let name = "martlet-test-\(UInt64.random(in: .min ... .max))"
        self.path = FileManager.default.temporaryDirectory.appending(path: name).path
        try FileManager.default.createDirectory(
            atPath: self.path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }

    /// The path of a file in the directory.
    package func path(of name: String) -> String { "\(self.path)/\(name)" }

    /// The names in the directory, sorted.
    package func contents() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: self.path).sorted()
    }

    /// All bytes of a file in the directory; `nil` if the file does not exist.
    package func bytes(of name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: self.path(of: name)).map { Array($0) }
    }

    /// Writes a file in the directory.
    package func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(filePath: self.path(of: name)))
    }

    /// The permission bits of a file in the directory.
    package func mode(of name: String) throws -> Int {
        var status = stat()
        try #require(unsafe stat(self.path(of: name), &status) == 0)
        return Int(status.st_mode & 0o7777)
    }

    /// Changes the permission bits of a file in the directory.
    package func setMode(_ mode: Int, of name: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: self.path(of: name))
    }

    /// Renames a file in the directory.
    package func move(_ name: String, to other: String) throws {
        try FileManager.default.moveItem(atPath: self.path(of: name), toPath: self.path(of: other))
    }

    /// Deletes a file in the directory.
    package func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: self.path(of: name))
    }

    /// Creates a named pipe in the directory.
    package func makePipe(_ name: String) throws {
        try #require(unsafe mkfifo(self.path(of: name), 0o600) == 0)
    }
}

/// Calls `body` with a new directory and removes the directory afterwards.
package func inTemporaryDirectory(_ body: (_ path: String) throws -> Void) throws {
    let directory = try TemporaryDirectory()
    try body(directory.path)
}

/// Writes a file and returns its path.
@discardableResult
package func write(_ content: String, to path: String, mode: Int = 0o644) throws -> String {
    try write(Data(content.utf8), to: path, mode: mode)
}

/// Writes a file and returns its path.
@discardableResult
package func write(_ content: Data, to path: String, mode: Int = 0o644) throws -> String {
    try content.write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    return path
}

/// A full named pipe. Nothing is read from it until the test calls ``read()``.
package final class StuckPipe: Sendable {
    /// The path to pass to a program as its output.
    package let path: String
    private let descriptor: CInt

    /// Creates the pipe in `directory` and fills it with line feeds.
    package init(_ name: String, in directory: TemporaryDirectory) throws {
        try directory.makePipe(name)
        self.path = directory.path(of: name)
        // Opened for reading and writing, so that writers find a reader.
        self.descriptor = unsafe open(self.path, O_RDWR | O_NONBLOCK)
        try #require(self.descriptor >= 0)
        for size in [4_096, 1] {
            let filling = [UInt8](repeating: UInt8(ascii: "\n"), count: size)
            while unsafe filling.withUnsafeBytes({ unsafe write(self.descriptor, $0.baseAddress, $0.count) }) > 0 {}
        }
    }

    deinit { close(self.descriptor) }

    /// Opens another descriptor of the pipe for a writer in this process. Its writes block. The caller closes it.
    package func openForWriting() throws -> CInt {
        let descriptor = unsafe open(self.path, O_WRONLY)
        try #require(descriptor >= 0)
        return descriptor
    }

    /// Reads everything that is in the pipe now. The line feeds of ``init(_:in:)`` come first.
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
