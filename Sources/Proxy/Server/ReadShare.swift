package import NIOCore

/// How much of a loop's memory for reads one of its connections may take: large reads while there are few connections, since
/// each costs as much as a small one, and small ones while there are many, since each leaves a buffer behind.
package final class ReadShare {
    /// For all connections of a loop together, in bytes.
    package static let budget = 4 << 20
    package static let smallest = 4 << 10
    package static let largest = 64 << 10

    /// Of one read, in bytes.
    package private(set) var limit = ReadShare.largest

    package init() {}

    /// - Parameter callers: connections of callers; each may have one to an upstream.
    package func divide(among callers: Int) {
        self.limit = min(max(Self.budget / (2 * max(callers, 1)), Self.smallest), Self.largest)
    }
}

/// The sizes of a connection's reads: as much as its latest reads say, within its share.
package struct SharedReadBuffers: RecvByteBufferAllocator {
    private static let initial = 2 << 10

    private var wish = AdaptiveRecvByteBufferAllocator(
        minimum: 1 << 10,
        initial: SharedReadBuffers.initial,
        maximum: ReadShare.largest
    )
    private let share: NIOLoopBound<ReadShare>

    package init(_ share: NIOLoopBound<ReadShare>) {
        self.share = share
    }

    private var size: Int { min(self.wish.nextBufferSize() ?? Self.initial, self.share.value.limit) }

    package func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { allocator.buffer(capacity: self.size) }

    package func nextBufferSize() -> Int? { self.size }

    package mutating func record(actualReadBytes: Int) -> Bool { self.wish.record(actualReadBytes: actualReadBytes) }
}
