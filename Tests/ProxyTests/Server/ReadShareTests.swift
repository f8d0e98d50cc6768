import NIOCore
import Proxy
import Testing

@Suite struct ReadShareTests {
    @Test func `a few connections read much at once, and many little each`() {
        let share = ReadShare()
        #expect(share.limit == ReadShare.largest)
        var limits: [Int] = []
        for callers in [0, 1, 128, 256, 1_024, 2_048, 100_000] {
            share.divide(among: callers)
            limits.append(share.limit >> 10)
        }
        #expect(limits == [256, 256, 128, 64, 16, 8, 4])
    }

    @Test func `whatever there is, all together stay within the budget, or take the least there is`() {
        let share = ReadShare()
        for callers in 1...10_000 {
            share.divide(among: callers)
            #expect(share.limit == ReadShare.smallest || 2 * callers * share.limit <= ReadShare.budget)
        }
    }

    @Test func `reads grow with what comes, up to the share as it is then`() {
        // Given a connection that gets all it can take, again and again
        let share = ReadShare()
        var buffers = SharedReadBuffers(share)
        #expect(buffers.nextBufferSize() == 2 << 10)
        for _ in 1...20 { _ = buffers.record(actualReadBytes: buffers.nextBufferSize() ?? 0) }
        #expect(buffers.nextBufferSize() == ReadShare.largest)

        // When others come
        share.divide(among: 2_048)
        #expect(buffers.nextBufferSize() == 8 << 10)
        #expect(buffers.buffer(allocator: ByteBufferAllocator()).capacity == 8 << 10)

        // And when little comes, it takes less
        for _ in 1...20 { _ = buffers.record(actualReadBytes: 100) }
        #expect(buffers.nextBufferSize() == 1 << 10)
    }

    @Test func `two small reads in a row halve what the next one takes, one does not`() {
        var buffers = SharedReadBuffers(ReadShare())
        let sizes = [2 << 10, 100, 3 << 10, 100, 2 << 10].map { found in
            _ = buffers.record(actualReadBytes: found)
            return buffers.nextBufferSize()
        }
        #expect(sizes == [4 << 10, 4 << 10, 4 << 10, 4 << 10, 2 << 10])
    }
}
