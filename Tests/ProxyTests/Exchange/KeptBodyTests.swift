import NIOCore
import Proxy
import Testing

@Suite struct KeptBodyTests {
    private func body(_ limit: Int, _ pieces: [String], isSent: Bool, memory: SharedLimit? = nil) -> KeptBody {
        var body = KeptBody(limit: limit, memory: memory)
        for piece in pieces { body.keep(ByteBuffer(string: piece), isSent: isSent) }
        return body
    }

    @Test func `pieces come out as one buffer, in order`() {
        let body = self.body(10, ["abc", "de", "f"], isSent: true)
        let (bytes, isDropped) = (body.bytes, body.isDropped)
        #expect(bytes.map { String(buffer: $0) } == "abcdef")
        #expect(!isDropped)
    }

    @Test func `keeping a later piece leaves the earlier one's bytes alone`() {
        let first = ByteBuffer(string: "abc")
        var body = KeptBody(limit: 10)
        body.keep(first, isSent: true)
        body.keep(ByteBuffer(string: "def"), isSent: true)
        #expect(String(buffer: first) == "abc")
    }

    @Test(arguments: [(["abcde"], false), (["abc", "de"], false), (["abcdef"], true), (["abc", "def"], true)])
    func `sent pieces are kept up to the limit, and none is kept beyond it`(pieces: [String], isDropped: Bool) {
        let body = self.body(5, pieces, isSent: true)
        let outcome = (bytes: body.bytes, isDropped: body.isDropped)
        #expect(outcome.isDropped == isDropped)
        #expect((outcome.bytes == nil) == isDropped)
    }

    @Test func `a dropped body stays dropped`() {
        var body = self.body(5, ["abcdef"], isSent: true)
        body.keep(ByteBuffer(string: "g"), isSent: true)
        let (bytes, isDropped, isEmpty) = (body.bytes, body.isDropped, body.isEmpty)
        #expect(bytes == nil)
        #expect(isDropped)
        #expect(!isEmpty)
    }

    @Test func `an unsent piece is never dropped, and leaves no room for another`() {
        let body = self.body(5, ["abcdefgh"], isSent: false)
        let (bytes, hasRoom) = (body.bytes, body.hasRoom)
        #expect(bytes.map { String(buffer: $0) } == "abcdefgh")
        #expect(!hasRoom)
    }

    @Test(arguments: [(5, "abcd", true), (5, "abcde", false), (0, "", false)])
    func `there is room only below the limit`(limit: Int, piece: String, hasRoom: Bool) {
        let found = self.body(limit, piece.isEmpty ? [] : [piece], isSent: false).hasRoom
        #expect(found == hasRoom)
    }

    @Test func `a body above the limit is dropped once it was sent`() {
        var body = self.body(5, ["abcdef"], isSent: false)
        body.trim()
        var small = self.body(5, ["abcde"], isSent: false)
        small.trim()
        let areDropped = [body.isDropped, small.isDropped]
        #expect(areDropped == [true, false])
    }

    @Test func `a new body is empty, and one with a piece is not`() {
        let areEmpty = [KeptBody(limit: 5).isEmpty, self.body(5, ["a"], isSent: false).isEmpty]
        #expect(areEmpty == [true, false])
    }

    // MARK: - The memory that all bodies share

    @Test func `a sent body that finds no shared memory is dropped, and gives back its share`() {
        let memory = SharedLimit(8)
        let other = self.body(10, ["abcd"], isSent: true, memory: memory)
        let body = self.body(10, ["ef", "ghi"], isSent: true, memory: memory)
        let isDropped = body.isDropped
        #expect(isDropped)
        #expect(memory.taken == 4)
        _ = consume other
        #expect(memory.taken == 0)
        _ = consume body
        #expect(memory.taken == 0)
    }

    @Test func `an unsent piece is kept whatever the others take, but leaves no room for more`() {
        let memory = SharedLimit(4)
        let body = self.body(10, ["abc", "def"], isSent: false, memory: memory)
        let (count, hasRoom, isOver) = (body.count, body.hasRoom, body.isMemoryOver)
        #expect(count == 6)
        #expect(!hasRoom)
        #expect(isOver)
        #expect(memory.taken == 6)
        _ = consume body
    }

    @Test func `replacing a body gives back its memory`() {
        let memory = SharedLimit(100)
        var body = self.body(10, ["abc"], isSent: true, memory: memory)
        body = KeptBody(limit: 0)
        let isEmpty = body.isEmpty
        #expect(isEmpty)
        #expect(memory.taken == 0)
    }

    @Test func `trimming a body gives back its memory once`() {
        let memory = SharedLimit(100)
        var body = self.body(2, ["abc"], isSent: false, memory: memory)
        #expect(memory.taken == 3)
        body.trim()
        #expect(memory.taken == 0)
        _ = consume body
        #expect(memory.taken == 0)
    }
}
