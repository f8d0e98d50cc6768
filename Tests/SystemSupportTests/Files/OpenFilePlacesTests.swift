import Glibc
import SystemSupport
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

    @Test func `allocated space exists at once and is filled with zeros`() throws {
        let file = try self.open()

        try file.allocate(4_096)

        let count = try file.extent().count
        #expect(count == 4_096)
        #expect(self.directory.bytes(of: "file") == Array(repeating: 0, count: 4_096))
    }

    @Test func `a write at an offset changes only the bytes at that offset`() throws {
        let file = try self.open()
        try file.allocate(8)

        try file.write([1, 2, 3], at: 2)
        try file.write([9], at: 3)

        #expect(self.directory.bytes(of: "file") == [0, 0, 1, 9, 3, 0, 0, 0])
    }

    @Test func `only one opening of a file has the lock until that opening is closed`() throws {
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

    @Test func `a lock is released with its opening, even if another process inherited the descriptor`()
        throws
    {
        let second = try self.open()
        let descriptors = self.descriptors()
        var inherited: CInt = -1
        do {
            let first = try self.open()
            #expect(try first.lock())
            inherited = dup(try #require(self.descriptors().subtracting(descriptors).first))
            _ = consume first
        }
        defer { close(inherited) }

        let has = try second.lock()
        #expect(has)
    }

    /// The descriptors of this process that refer to the file.
    private func descriptors() -> Set<CInt> {
        // Symbolic links may change the beginning of the path. No other file's path ends like this.
        let ending = "\(self.directory.path.split(separator: "/").last ?? "")/file"
        let descriptors = (0..<4_096 as Range<CInt>).filter { number in
            var target = [CChar](repeating: 0, count: 4_096)
            let count = unsafe readlink("/proc/self/fd/\(number)", &target, target.count)
            return count > 0
                && String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self).hasSuffix(ending)
        }
        return Set(descriptors)
    }
}
