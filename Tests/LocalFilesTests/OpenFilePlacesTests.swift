import Glibc
import LocalFiles
import TestKit
import Testing

@Suite struct OpenFilePlacesTests {
    private let directory: TemporaryDirectory

    init() throws {
        self.directory = try TemporaryDirectory()
    }

    private func open() throws -> OpenFile {
        try OpenFile(opening: self.directory.path(of: "file"), O_RDWR | O_CREAT, mode: 0o600)
    }

    @Test func `room is made at once, and is zeroes`() throws {
        let file = try self.open()

        try file.allocate(4_096)

        let count = try file.extent().count
        #expect(count == 4_096)
        #expect(self.directory.bytes(of: "file") == Array(repeating: 0, count: 4_096))
    }

    @Test func `what is written at a place takes that place and no other`() throws {
        let file = try self.open()
        try file.allocate(8)

        try file.write([1, 2, 3], at: 2)
        try file.write([9], at: 3)

        #expect(self.directory.bytes(of: "file") == [0, 0, 1, 9, 3, 0, 0, 0])
    }

    @Test func `a lock is had by one opening, until that is closed`() throws {
        let second = try self.open()
        do {
            let first = try self.open()
            let had = (try first.lock(), try first.lock(), try second.lock())
            #expect(had == (true, true, false))
            _ = consume first
        }

        let has = try second.lock()
        #expect(has)
    }
}
