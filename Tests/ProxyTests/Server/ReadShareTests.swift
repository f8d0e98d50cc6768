import NIOCore
import Proxy
import Testing

@Suite struct ReadShareTests {
    @Test func `reads are large while no connection is blocked, and small while many are`() {
        let share = ReadShare()
        #expect(share.limit == ReadShare.largest)
        var limits: [Int] = []
        for blocked in 1...1_024 {
            share.block()
            if [1, 8, 16, 128, 512, 1_024].contains(blocked) { limits.append(share.limit >> 10) }
            #expect(share.limit == ReadShare.smallest || blocked * share.limit <= ReadShare.budget)
        }
        #expect(limits == [256, 64, 32, 4, 4, 4])
        for _ in 1...1_024 { share.unblock() }
        #expect(share.limit == ReadShare.largest)
    }

    @Test func `reads grow with what arrives, up to the current share`() {
        // Given a connection whose reads are full again and again
        let share = ReadShare()
        var buffers = SharedReadBuffers(share)
        #expect(buffers.nextBufferSize() == 2 << 10)
        for _ in 1...20 { _ = buffers.record(actualReadBytes: buffers.nextBufferSize() ?? 0) }
        #expect(buffers.nextBufferSize() == ReadShare.largest)

        // When other connections are blocked
        for _ in 1...64 { share.block() }
        #expect(buffers.nextBufferSize() == 8 << 10)
        #expect(buffers.buffer(allocator: ByteBufferAllocator()).capacity == 8 << 10)

        // And when little arrives, the connection reads less
        for _ in 1...20 { _ = buffers.record(actualReadBytes: 100) }
        #expect(buffers.nextBufferSize() == 1 << 10)
    }

    @Test func `two small reads in a row halve the next read, and one does not`() {
        var buffers = SharedReadBuffers(ReadShare())
        let sizes = [2 << 10, 100, 3 << 10, 100, 2 << 10].map { found in
            _ = buffers.record(actualReadBytes: found)
            return buffers.nextBufferSize()
        }
        #expect(sizes == [4 << 10, 4 << 10, 4 << 10, 4 << 10, 2 << 10])
    }
}
