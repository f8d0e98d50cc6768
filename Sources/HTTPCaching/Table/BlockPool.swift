internal import CShims
internal import Glibc
internal import Synchronization

/// A piece of a pool's memory. Whoever took it is its only owner until it goes back.
package struct Block: Hashable, Sendable {
    package static let size = 4_096
    /// What a block costs, with its place in a list.
    static let cost = size + MemoryLayout<Block>.stride

    private let address: UInt

    fileprivate init(_ base: UnsafeMutableRawPointer) { self.address = UInt(bitPattern: base) }

    /// The memory, which is valid until the block goes back to its pool.
    package var bytes: UnsafeMutableRawBufferPointer {
        // The owner of the block owns these bytes; its pool maps them as long as it lives.
        unsafe UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(bitPattern: self.address), count: Self.size)
    }
}

/// The memory for bodies: blocks of one size, mapped apart from the heap.
///
/// Bodies of all sizes come and go. On the heap they would leave gaps that the next ones don't fit in, and memory that
/// one thread's arena gets back is of no use to the others. Here each block fits each body. Blocks that nobody needs
/// for now go back to the system.
package final class BlockPool: Sendable {
    private struct State {
        /// Free blocks that have memory, all zeroes.
        var warm: [Block] = []
        /// Free blocks without memory: reading one yields zeroes.
        var cold: [Block] = []
        var regions: [Block] = []
        var used = 0

        /// How many free blocks keep their memory.
        var mostWarm: Int { max(64, self.used / 16) }
    }

    private static let blocksOfRegion = 256
    private let state = Mutex(State())

    package init() {}

    deinit {
        for region in self.state.withLock({ $0.regions }) {
            // Each body keeps its pool, so none is left that could use this memory.
            unsafe _ = munmap(region.bytes.baseAddress, Self.blocksOfRegion * Block.size)
        }
    }

    /// How many free blocks have memory.
    package var warm: Int { self.state.withLock { $0.warm.count } }

    /// Appends blocks full of zeroes to `blocks` until it has `count`. Returns `false` if the system has no memory left.
    package func fill(_ blocks: inout [Block], upTo count: Int) -> Bool {
        while blocks.count < count {
            let missing = count - blocks.count
            let found = self.state.withLock { state in
                var found: [Block] = []
                found.reserveCapacity(missing)
                while found.count < missing, let block = state.warm.popLast() ?? state.cold.popLast() {
                    found.append(block)
                }
                state.used += found.count
                return found
            }
            blocks += found
            if found.count < missing, !self.grow() { return false }
        }
        return true
    }

    /// Takes back blocks, after zeroing them.
    package func take(_ blocks: [Block]) {
        // The blocks are the calling code's until they are in the list.
        for block in blocks { unsafe martlet_zero(block.bytes.baseAddress, Block.size) }
        let surplus = self.state.withLock { state in
            state.used -= blocks.count
            state.warm += blocks
            let surplus = state.warm.suffix(max(0, state.warm.count - state.mostWarm))
            state.warm.removeLast(surplus.count)
            return Array(surplus)
        }
        guard !surplus.isEmpty else { return }
        // These blocks are in no list now. A private mapping reads as zeroes after this.
        for block in surplus { unsafe _ = madvise(block.bytes.baseAddress, Block.size, MADV_DONTNEED) }
        self.state.withLock { $0.cold += surplus }
    }

    private func grow() -> Bool {
        let size = Self.blocksOfRegion * Block.size
        let base = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard let base = unsafe base, unsafe base != MAP_FAILED else { return false }
        // Otherwise the first byte of a region may bring 2 MiB with it.
        unsafe _ = madvise(base, size, MADV_NOHUGEPAGE)
        // Within the mapping.
        let blocks = (0..<Self.blocksOfRegion).reversed().map { unsafe Block(base + $0 * Block.size) }
        self.state.withLock { state in
            state.regions += blocks.suffix(1)
            state.cold += blocks
        }
        return true
    }
}
