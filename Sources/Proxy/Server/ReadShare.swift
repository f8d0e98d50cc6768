package import NIOCore
internal import Synchronization

/// How much of a loop's memory for reads one of its connections may take: large reads while there are few connections, since
/// each costs as much as a small one, and small ones while there are many, since each leaves a buffer behind.
package final class ReadShare: Sendable {
    /// For all connections of a loop together, in bytes.
    package static let budget = 32 << 20
    package static let smallest = 4 << 10
    package static let largest = 256 << 10

    /// Written and read on the loop alone; to have each read ask whether it is there cost more than this does.
    private let current = Atomic(ReadShare.largest)

    package init() {}

    /// Of one read, in bytes.
    package var limit: Int { self.current.load(ordering: .relaxed) }

    /// - Parameter callers: connections of callers; each may have one to an upstream.
    package func divide(among callers: Int) {
        let limit = min(max(Self.budget / (2 * max(callers, 1)), Self.smallest), Self.largest)
        self.current.store(limit, ordering: .relaxed)
    }
}

/// The sizes of a connection's reads: as much as its latest reads say, within its share. It is small on purpose: what is
/// larger than three words the channel keeps on the heap, and asks for there at each read.
package struct SharedReadBuffers: RecvByteBufferAllocator {
    private static let smallest = 1 << 10

    /// What the next read would take if it had all the memory there is, in bytes.
    private var wish = 2 << 10
    /// The last read has found at most half of that.
    private var hasFoundLittle = false
    private let share: ReadShare

    package init(_ share: ReadShare) {
        self.share = share
    }

    private var size: Int { min(self.wish, self.share.limit) }

    package func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { allocator.buffer(capacity: self.size) }

    package func nextBufferSize() -> Int? { self.size }

    /// Doubles after a read that was full, and halves after two that were not half full.
    package mutating func record(actualReadBytes: Int) -> Bool {
        let isLittle = actualReadBytes <= self.wish / 2
        defer { self.hasFoundLittle = isLittle && !self.hasFoundLittle }
        if actualReadBytes >= self.wish, self.wish < ReadShare.largest {
            self.wish *= 2
            return true
        }
        if isLittle, self.hasFoundLittle { self.wish = max(self.wish / 2, Self.smallest) }
        return false
    }
}
