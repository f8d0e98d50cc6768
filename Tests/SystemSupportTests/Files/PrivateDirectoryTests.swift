import Glibc
import SystemSupport
import TestKit
import Testing

@Suite struct PrivateDirectoryTests {
    private let directory: TemporaryDirectory

    init() throws {
        self.directory = try TemporaryDirectory()
    }

    @Test func `the directory is made once, for its owner only`() throws {
        try PrivateDirectory.make(self.directory.path(of: "own"))
        try PrivateDirectory.make(self.directory.path(of: "own"))

        #expect(try self.directory.mode(of: "own") == 0o700)
    }

    @Test func `a file or a link in place of the directory is refused`() throws {
        try self.directory.write([], to: "file")
        try PrivateDirectory.make(self.directory.path(of: "real"))
        try #require(unsafe symlink(self.directory.path(of: "real"), self.directory.path(of: "link")) == 0)

        for name in ["file", "link"] {
            #expect(throws: SystemCallError.self) { try PrivateDirectory.make(self.directory.path(of: name)) }
        }
    }

    @Test(.enabled(if: geteuid() == 0))
    func `a directory of another user is refused`() throws {
        try PrivateDirectory.make(self.directory.path(of: "theirs"))
        try #require(unsafe chown(self.directory.path(of: "theirs"), 12_345, 12_345) == 0)

        #expect(throws: SystemCallError.self) { try PrivateDirectory.make(self.directory.path(of: "theirs")) }
    }

    @Test func `names that begin with a dot are left out`() throws {
        for name in ["b", "a", ".hidden"] { try self.directory.write([], to: name) }

        #expect(try PrivateDirectory.names(in: self.directory.path) == ["a", "b"])
    }

    @Test func `removing a missing file succeeds`() throws {
        try self.directory.write([], to: "file")

        try PrivateDirectory.remove(self.directory.path(of: "file"))
        try PrivateDirectory.remove(self.directory.path(of: "file"))

        #expect(try self.directory.contents().isEmpty)
    }
}
