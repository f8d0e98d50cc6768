package import NIOCore
internal import Synchronization

/// How much one read of a loop's connections may take: much while what is read goes on at once, since a large read costs as
/// much as a small one, and little while many connections take nothing, since what was read for each of them waits here.
package final class ReadShare: Sendable {
    /// For all that waits on a loop, in bytes. Connections that came to wait while there was room for more keep what they
    /// have, so that it may be some times as much in the end.
    package static let budget = 512 << 10
    package static let smallest = 4 << 10
    package static let largest = 256 << 10

    /// Both are written and read on the loop alone; to have each read ask whether it is there cost more than this does.
    private let current = Atomic(ReadShare.largest)
    private let blocked = Atomic(0)

    package init() {}

    /// Of one read, in bytes.
    package var limit: Int { self.current.load(ordering: .relaxed) }

    /// A connection takes nothing for now.
    package func block() { self.divide(among: self.blocked.load(ordering: .relaxed) + 1) }

    /// It takes more, or is gone.
    package func unblock() { self.divide(among: self.blocked.load(ordering: .relaxed) - 1) }

    private func divide(among count: Int) {
        self.blocked.store(count, ordering: .relaxed)
        let limit = min(max(Self.budget / max(count, 1), Self.smallest), Self.largest)
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
