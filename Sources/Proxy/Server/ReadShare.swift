package import NIOCore
internal import Synchronization

/// Limits how much one read of a loop's connections may take. The limit is large while the bytes read go on at once,
/// since a large read costs as much as a small one. It is small while many connections are blocked, since the bytes
/// read for each of them wait in memory.
package final class ReadShare: Sendable {
    /// Memory for all bytes that wait on a loop, in bytes. Connections that blocked while the share was larger keep
    /// what they have, so the total may be a few times as much.
    package static let budget = 512 << 10
    package static let smallest = 4 << 10
    package static let largest = 256 << 10

    /// Both are used on the loop alone. Checking at each read that it runs on the loop would cost more than the atomics
    /// do.
    private let current = Atomic(ReadShare.largest)
    private let blocked = Atomic(0)

    package init() {}

    /// Upper bound of one read, in bytes.
    package var limit: Int { self.current.load(ordering: .relaxed) }

    /// A connection's peer takes no bytes for now.
    package func block() { self.divide(among: self.blocked.load(ordering: .relaxed) + 1) }

    /// The peer takes bytes again, or the connection is gone.
    package func unblock() { self.divide(among: self.blocked.load(ordering: .relaxed) - 1) }

    private func divide(among count: Int) {
        self.blocked.store(count, ordering: .relaxed)
        let limit = min(max(Self.budget / max(count, 1), Self.smallest), Self.largest)
        self.current.store(limit, ordering: .relaxed)
    }
}

/// Chooses the sizes of a connection's reads: as much as its latest reads suggest, within the loop's share. The type is
/// small on purpose: the channel keeps anything larger than three words on the heap, and allocates it at each read.
package struct SharedReadBuffers: RecvByteBufferAllocator {
    private static let smallest = 1 << 10

    /// What the next read would take if memory were unlimited, in bytes.
    private var wish = 2 << 10
    /// The last read filled at most half of ``wish``.
    private var hasFoundLittle = false
    private let share: ReadShare

    package init(_ share: ReadShare) {
        self.share = share
    }

    private var size: Int { min(self.wish, self.share.limit) }

    package func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { allocator.buffer(capacity: self.size) }

    package func nextBufferSize() -> Int? { self.size }

    /// Doubles the wish after a full read, and halves it after two reads that filled at most half of it.
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
