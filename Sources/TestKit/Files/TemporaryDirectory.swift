internal import FoundationEssentials
internal import Glibc
internal import Testing

/// A directory of one test, removed with everything in it when the test lets go of it.
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// Makes it, empty, for this user only.
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

    /// The path of a file in it.
    package func path(of name: String) -> String { "\(self.path)/\(name)" }

    /// The names in it, sorted.
    package func contents() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: self.path).sorted()
    }

    /// All bytes of a file in it; `nil` where there is none.
    package func bytes(of name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: self.path(of: name)).map { Array($0) }
    }

    /// Makes a file in it.
    package func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(filePath: self.path(of: name)))
    }

    /// The permission bits of a file in it.
    package func mode(of name: String) throws -> Int {
        var status = stat()
        try #require(unsafe stat(self.path(of: name), &status) == 0)
        return Int(status.st_mode & 0o7777)
    }

    /// Changes the permission bits of a file in it.
    package func setMode(_ mode: Int, of name: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: self.path(of: name))
    }

    /// Renames a file in it.
    package func move(_ name: String, to other: String) throws {
        try FileManager.default.moveItem(atPath: self.path(of: name), toPath: self.path(of: other))
    }

    /// Deletes a file in it.
    package func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: self.path(of: name))
    }

    /// Makes a named pipe in it.
    package func makePipe(_ name: String) throws {
        try #require(unsafe mkfifo(self.path(of: name), 0o600) == 0)
    }
}
