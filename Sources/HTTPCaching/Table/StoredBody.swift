internal import CShims
package import NIOCore

/// The content of a stored response. Its bytes are overwritten when the last reader is done.
///
/// A ``CacheFill`` writes it, piece by piece, and shares it only when it is complete; from then on it does not change.
/// Its memory counts against the cache until it is free, so a slow reader of a response that was evicted can't have the
/// cache use more than it may.
///
/// `@unchecked Sendable`: written by the one exchange that fills it, before the reference is shared; then only read.
@safe
package final class StoredBody: @unchecked Sendable {
    /// What a body costs beyond its bytes: this object and its list of blocks.
    private static let overhead = 160
    /// A rest up to this long gets memory of its own size; a longer one keeps its block.
    private static let longestTail = 3 * Block.size / 4

    /// How many bytes it has.
    package private(set) var count = 0
    private var blocks: [Block] = []
    /// The last bytes, after those in `blocks`.
    private var tail = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// How many bytes it will have; `nil` if nobody knows yet.
    private let length: Int?
    /// How many bytes of the budget it holds.
    private(set) var charge = 0
    private let pool: BlockPool
    private let budget: MemoryBudget

    /// An empty body, to be filled.
    ///
    /// - Parameter length: how many bytes it will have, if that is known. It takes no more memory than these need then.
    package init(length: Int? = nil, pool: BlockPool, budget: MemoryBudget) {
        self.length = length
        self.pool = pool
        self.budget = budget
        if let length, let rest = Self.tail(of: length) {
            unsafe self.tail = .allocate(byteCount: rest, alignment: 1)
        }
    }

    /// A body outside any cache.
    package convenience init(_ bytes: ByteBuffer) {
        self.init(pool: BlockPool(), budget: MemoryBudget(limit: .max))
        _ = self.append(bytes)
        self.seal()
    }

    deinit {
        if !self.blocks.isEmpty { self.pool.take(self.blocks) }
        if let base = unsafe self.tail.baseAddress { unsafe martlet_zero(base, self.tail.count) }
        unsafe self.tail.deallocate()
        self.budget.give(self.charge)
    }

    /// Appends the bytes of `range` to `buffer`.
    package func copy(_ range: Range<Int>, into buffer: inout ByteBuffer) {
        precondition(range.lowerBound >= 0 && range.upperBound <= self.count, "a range of another body")
        buffer.reserveCapacity(minimumWritableBytes: range.count)
        var position = range.lowerBound
        while position < range.upperBound {
            let (block, offset) = position.quotientAndRemainder(dividingBy: Block.size)
            let piece = unsafe block < self.blocks.count ? self.blocks[block].bytes : self.tail
            let end = min(offset + range.upperBound - position, piece.count)
            // `piece` is ours as long as this object is.
            unsafe buffer.writeBytes(UnsafeRawBufferPointer(rebasing: piece[offset..<end]))
            position += end - offset
        }
    }

    // MARK: - Filling

    /// What it may cost while it has up to `count` bytes.
    func cost(at count: Int) -> Int {
        self.length.map(Self.cost) ?? Self.blocks(for: count) * Block.cost + Self.overhead
    }

    /// What a complete body of `count` bytes costs.
    private static func cost(of count: Int) -> Int {
        guard let tail = Self.tail(of: count) else { return Self.blocks(for: count) * Block.cost + Self.overhead }
        // The heap hands out multiples of 16 bytes, of which it keeps 8.
        return count / Block.size * Block.cost + max(32, (tail + 23) & ~15) + Self.overhead
    }

    /// How many bytes behind the last full block have memory of their own size; `nil` if there are none, or too many.
    private static func tail(of count: Int) -> Int? {
        let rest = count % Block.size
        return rest > 0 && rest <= Self.longestTail ? rest : nil
    }

    private static func blocks(for count: Int) -> Int { (count + Block.size - 1) / Block.size }

    /// Counts `bytes`, which were taken from the budget, as this body's.
    func hold(_ bytes: Int) { self.charge += bytes }

    /// Returns `false` if the system has no memory left, or if there are more bytes than were expected.
    package func append(_ bytes: ByteBuffer) -> Bool {
        let end = self.count + bytes.readableBytes
        let length = self.length ?? .max
        let inBlocks = unsafe min(end, length - self.tail.count)
        guard end <= length, self.pool.fill(&self.blocks, upTo: Self.blocks(for: inBlocks)) else { return false }
        // `source` is read during the call only.
        unsafe bytes.withUnsafeReadableBytes { source in
            var read = 0
            while read < source.count {
                let (block, offset) = self.count.quotientAndRemainder(dividingBy: Block.size)
                // There is memory up to `end`, and nobody else has this body yet.
                let room = unsafe block < self.blocks.count ? self.blocks[block].bytes : self.tail
                let count = min(source.count - read, room.count - offset)
                let target = unsafe UnsafeMutableRawBufferPointer(rebasing: room[offset...])
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[read..<read + count]))
                read += count
                self.count += count
            }
        }
        return true
    }

    /// Ends the writing: gives back what it has reserved and does not need.
    package func seal() {
        if self.length == nil, let rest = Self.tail(of: self.count) {
            let block = self.blocks.removeLast()
            // As long as the rest, which is the beginning of the block.
            unsafe self.tail = .allocate(byteCount: rest, alignment: 1)
            unsafe self.tail.copyMemory(from: UnsafeRawBufferPointer(rebasing: block.bytes[..<rest]))
            self.pool.take([block])
        }
        let surplus = self.charge - Self.cost(of: self.count)
        guard surplus > 0 else { return }
        self.charge -= surplus
        self.budget.give(surplus)
    }
}
