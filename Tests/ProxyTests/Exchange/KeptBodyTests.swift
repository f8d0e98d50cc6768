import NIOCore
import Proxy
import Testing

@Suite struct KeptBodyTests {
    private func body(_ limit: Int, _ pieces: [String], isSent: Bool) -> KeptBody {
        var body = KeptBody(limit: limit)
        for piece in pieces { body.keep(ByteBuffer(string: piece), isSent: isSent) }
        return body
    }

    @Test func `pieces come out in one, in order`() {
        let body = self.body(10, ["abc", "de", "f"], isSent: true)
        #expect(body.bytes.map { String(buffer: $0) } == "abcdef")
        #expect(!body.isDropped)
    }

    @Test func `keeping a later piece leaves the earlier one's bytes alone`() {
        let first = ByteBuffer(string: "abc")
        var body = KeptBody(limit: 10)
        body.keep(first, isSent: true)
        body.keep(ByteBuffer(string: "def"), isSent: true)
        #expect(String(buffer: first) == "abc")
    }

    @Test(arguments: [(["abcde"], false), (["abc", "de"], false), (["abcdef"], true), (["abc", "def"], true)])
    func `sent pieces are kept up to the limit, past it none is`(pieces: [String], isDropped: Bool) {
        let body = self.body(5, pieces, isSent: true)
        #expect(body.isDropped == isDropped)
        #expect((body.bytes == nil) == isDropped)
    }

    @Test func `a dropped body stays dropped`() {
        var body = self.body(5, ["abcdef"], isSent: true)
        body.keep(ByteBuffer(string: "g"), isSent: true)
        #expect(body.bytes == nil)
        #expect(body.isDropped)
        #expect(!body.isEmpty)
    }

    @Test func `a piece that was not sent is never dropped, and leaves no room for another`() {
        let body = self.body(5, ["abcdefgh"], isSent: false)
        #expect(body.bytes.map { String(buffer: $0) } == "abcdefgh")
        #expect(!body.hasRoom)
    }

    @Test(arguments: [(5, "abcd", true), (5, "abcde", false), (0, "", false)])
    func `there is room below the limit`(limit: Int, piece: String, hasRoom: Bool) {
        #expect(self.body(limit, piece.isEmpty ? [] : [piece], isSent: false).hasRoom == hasRoom)
    }

    @Test func `after it was sent, more than the limit is not kept on`() {
        var body = self.body(5, ["abcdef"], isSent: false)
        body.trim()
        #expect(body.isDropped)

        var small = self.body(5, ["abcde"], isSent: false)
        small.trim()
        #expect(!small.isDropped)
    }

    @Test func `nothing is empty, something is not`() {
        #expect(KeptBody(limit: 5).isEmpty)
        #expect(!self.body(5, ["a"], isSent: false).isEmpty)
    }
}
