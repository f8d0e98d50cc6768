import NIOCore
import Proxy
import Testing

@Suite struct WriteCoalescerTests {
    private let head = ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n")

    @Test func `a head and small pieces go out as one buffer`() {
        var outbox = WriteCoalescer()
        #expect(outbox.put(self.head, isHead: true)?.bytes == nil)
        #expect(outbox.put(ByteBuffer(string: "hello"))?.bytes == nil)
        #expect(outbox.holdsHead)

        #expect(outbox.take() == ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\nhello"))
        #expect(outbox.take() == nil)
    }

    @Test func `a piece too large to copy goes out by itself, in order`() {
        var outbox = WriteCoalescer()
        let piece = ByteBuffer(repeating: 0x78, count: 16 << 10)
        #expect(outbox.put(self.head, isHead: true)?.bytes == nil)

        let head = outbox.put(piece)
        #expect(head?.bytes == self.head && head?.holdsHead == true)
        let body = outbox.put(ByteBuffer(string: "\r\n"))
        #expect(body?.bytes == piece && body?.holdsHead == false)
        #expect(outbox.take() == ByteBuffer(string: "\r\n"))
    }

    @Test func `the coalescer tells whether the waiting bytes hold a head`() {
        var outbox = WriteCoalescer()
        _ = outbox.put(ByteBuffer(string: "body"))
        #expect(!outbox.holdsHead)
        _ = outbox.put(self.head, isHead: true)
        #expect(outbox.holdsHead)
        _ = outbox.take()
        #expect(!outbox.holdsHead)
    }

    @Test func `as many heads as a tick sends keep their memory, except for large ones`() {
        var spare = SpareBuffers()
        for number in 0..<100 { spare.keep(ByteBuffer(string: "\(number)")) }
        #expect((0..<100).count { _ in spare.take().readableBytes > 0 } == 64)
        spare.keep(ByteBuffer(repeating: 0x78, count: 9 << 10))
        #expect(spare.take().readableBytes == 0)
    }

    @Test(arguments: [(pieces: 1, isLarge: false), (3, false), (4, true), (16, true)])
    func `pieces that are large together should go out at once`(pieces: Int, isLarge: Bool) {
        var outbox = WriteCoalescer()
        for _ in 0..<pieces { _ = outbox.put(ByteBuffer(repeating: 0x78, count: 4 << 10)) }
        #expect(outbox.isLarge == isLarge)

        _ = outbox.take()
        #expect(!outbox.isLarge)
    }

    @Test func `each flush resets the count of bytes that went ahead, even if nothing follows them`() {
        var outbox = WriteCoalescer()
        let piece = ByteBuffer(repeating: 0x78, count: 5 << 10)
        // More rounds than it would take to become large.
        for _ in 0..<8 {
            #expect(outbox.put(piece)?.bytes == nil)
            #expect(outbox.put(ByteBuffer())?.bytes == piece)

            #expect(outbox.take() == nil)
            #expect(!outbox.isLarge)
        }
    }

    @Test func `cleared bytes do not go out`() {
        var outbox = WriteCoalescer()
        _ = outbox.put(self.head, isHead: true)
        outbox.clear()
        #expect(outbox.take() == nil)
    }

    // MARK: - What is left in memory

    /// The bytes at the former place of a buffer. This thread has not been given the place again: the allocator keeps
    /// small blocks for the thread that freed them.
    private func memory(_ place: UnsafeRawPointer?, _ count: Int) -> [UInt8] {
        (0..<count).compactMap { index in unsafe place?.load(fromByteOffset: index, as: UInt8.self) }
    }

    private func place(of buffer: ByteBuffer) -> UnsafeRawPointer? {
        unsafe buffer.withVeryUnsafeBytes { $0.baseAddress }
    }

    /// A request head with memory of its own, as each head has.
    private func request() -> ByteBuffer {
        var request = ByteBufferAllocator().buffer(capacity: 500)
        request.writeString("GET / HTTP/1.1\r\nAuthorization: Bearer canary\r\n\r\n")
        return request
    }

    @Test func `I16_the memory of a head that held a token comes back without the token`() {
        var spare = SpareBuffers()
        var sent = self.request()
        let count = sent.readableBytes
        let place = unsafe self.place(of: sent)
        sent.moveReaderIndex(forwardBy: count)
        spare.keepWiped(consume sent)

        let kept = spare.take()
        #expect(unsafe self.place(of: kept) == place)
        #expect(kept.readableBytes == 0)
        #expect(unsafe self.memory(place, count).allSatisfy { $0 == 0 })
    }

    @Test func `spare memory that is wiped keeps nothing, and is freed`() {
        var spare = SpareBuffers()
        let place = {
            let response = self.request()
            spare.keep(response)
            return unsafe self.place(of: response)
        }()
        let count = self.request().readableBytes
        spare.wipe()
        #expect(unsafe !String(decoding: self.memory(place, count), as: UTF8.self).contains("canary"))
        #expect(spare.take().capacity == 0)
    }

    @Test func `bytes that somebody else still has to send stay whole`() {
        var spare = SpareBuffers()
        let sent = self.request()
        spare.keepWiped(sent)
        #expect(String(buffer: sent).contains("canary"))
        #expect(unsafe self.place(of: spare.take()) != self.place(of: sent))
    }

    @Test func `I16_a head that is given up is overwritten`() {
        var outbox = WriteCoalescer()
        let place = {
            let request = self.request()
            _ = outbox.put(request, isHead: true)
            return unsafe self.place(of: request)
        }()
        let count = self.request().readableBytes
        outbox.clear()
        #expect(unsafe !String(decoding: self.memory(place, count), as: UTF8.self).contains("canary"))
    }

    @Test func `I16_a head that has no space for a body leaves nothing behind in its old memory`() {
        var outbox = WriteCoalescer()
        let place = {
            let request = self.request()
            _ = outbox.put(request, isHead: true)
            return unsafe self.place(of: request)
        }()
        let count = self.request().readableBytes
        #expect(outbox.put(ByteBuffer(repeating: 0x78, count: 3_000))?.bytes == nil)
        #expect(unsafe !String(decoding: self.memory(place, count), as: UTF8.self).contains("canary"))
        #expect(
            outbox.take().map { String(buffer: $0) } == String(buffer: self.request())
                + String(repeating: "x", count: 3_000)
        )
    }
}
