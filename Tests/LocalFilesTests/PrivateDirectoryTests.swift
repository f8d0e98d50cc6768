import Glibc
import LocalFiles
import TestKit
import Testing

@Suite struct PrivateDirectoryTests {
    private let directory: TemporaryDirectory

    init() throws {
        self.directory = try TemporaryDirectory()
    }

    @Test func `it is made for its owner only, once`() throws {
        try PrivateDirectory.make(self.directory.path(of: "own"))
        try PrivateDirectory.make(self.directory.path(of: "own"))

        #expect(try self.directory.mode(of: "own") == 0o700)
    }

    @Test func `a file or a link in its place is refused`() throws {
        try self.directory.write([], to: "file")
        try PrivateDirectory.make(self.directory.path(of: "real"))
        try #require(unsafe symlink(self.directory.path(of: "real"), self.directory.path(of: "link")) == 0)

        for name in ["file", "link"] {
            #expect(throws: SystemCallError.self) { try PrivateDirectory.make(self.directory.path(of: name)) }
        }
    }

    @Test(.enabled(if: geteuid() == 0))
    func `another user's is refused`() throws {
        try PrivateDirectory.make(self.directory.path(of: "theirs"))
        try #require(unsafe chown(self.directory.path(of: "theirs"), 12_345, 12_345) == 0)

        #expect(throws: SystemCallError.self) { try PrivateDirectory.make(self.directory.path(of: "theirs")) }
    }

    @Test func `names that begin with a dot are left out`() throws {
        for name in ["b", "a", ".hidden"] { try self.directory.write([], to: name) }

        #expect(try PrivateDirectory.names(in: self.directory.path) == ["a", "b"])
    }

    @Test func `what is not there need not be removed`() throws {
        try self.directory.write([], to: "file")

        try PrivateDirectory.remove(self.directory.path(of: "file"))
        try PrivateDirectory.remove(self.directory.path(of: "file"))

        #expect(try self.directory.contents().isEmpty)
    }
}
