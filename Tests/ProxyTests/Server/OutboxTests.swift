import NIOCore
import Proxy
import Testing

@Suite struct OutboxTests {
    private let head = ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n")

    @Test func `a head and small pieces go out as one`() {
        var outbox = Outbox()
        var spare = SpareBuffers()
        #expect(outbox.put(self.head, isHead: true) == nil)
        #expect(outbox.put(ByteBuffer(string: "hello")) == nil)

        #expect(outbox.take(&spare) == ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\nhello"))
        #expect(outbox.take(&spare) == nil)
    }

    @Test func `what would have to be copied at length goes out by itself, in order`() {
        var outbox = Outbox()
        var spare = SpareBuffers()
        let piece = ByteBuffer(repeating: 0x78, count: 16 << 10)
        #expect(outbox.put(self.head, isHead: true) == nil)

        #expect(outbox.put(piece) == self.head)
        #expect(outbox.put(ByteBuffer(string: "\r\n")) == piece)
        #expect(outbox.take(&spare) == ByteBuffer(string: "\r\n"))
    }

    @Test func `the memory of a head comes back, that of a body does not`() {
        var outbox = Outbox()
        var spare = SpareBuffers()
        _ = outbox.put(self.head, isHead: true)
        let sent = outbox.take(&spare)
        #expect(spare.take() == sent)

        _ = outbox.put(ByteBuffer(string: "body"))
        _ = outbox.take(&spare)
        #expect(spare.take().readableBytes == 0)
    }

    @Test func `as many heads as a tick sends keep their memory, and none that was large`() {
        var spare = SpareBuffers()
        for number in 0..<100 { spare.keep(ByteBuffer(string: "\(number)")) }
        #expect((0..<100).count { _ in spare.take().readableBytes > 0 } == 64)
        spare.keep(ByteBuffer(repeating: 0x78, count: 9 << 10))
        #expect(spare.take().readableBytes == 0)
    }

    @Test(arguments: [(pieces: 1, isLarge: false), (3, false), (4, true), (16, true)])
    func `what is large had better go at once, with what was written ahead of it`(pieces: Int, isLarge: Bool) {
        var outbox = Outbox()
        var spare = SpareBuffers()
        for _ in 0..<pieces { _ = outbox.put(ByteBuffer(repeating: 0x78, count: 4 << 10)) }
        #expect(outbox.isLarge == isLarge)

        _ = outbox.take(&spare)
        #expect(!outbox.isLarge)
    }

    @Test func `what went ahead is forgotten with each flush, also with one that has nothing behind it`() {
        var outbox = Outbox()
        var spare = SpareBuffers()
        let piece = ByteBuffer(repeating: 0x78, count: 5 << 10)
        // More rounds than it would take to be large.
        for _ in 0..<8 {
            #expect(outbox.put(piece) == nil)
            #expect(outbox.put(ByteBuffer()) == piece)

            #expect(outbox.take(&spare) == nil)
            #expect(!outbox.isLarge)
        }
    }

    @Test func `what was given up does not go out`() {
        var outbox = Outbox()
        var spare = SpareBuffers()
        _ = outbox.put(self.head, isHead: true)
        outbox.clear()
        #expect(outbox.take(&spare) == nil)
    }
}
