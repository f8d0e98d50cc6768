/// Decides what a full cache gives up: S3-FIFO (Yang et al., SOSP 2023), by bytes.
///
/// What is new waits in a small queue. Whatever is used there moves on to the main queue; the rest goes, and only its
/// hash is kept for a while. What comes back within that time enters the main queue at once. So a scan of things used
/// once passes through a tenth of the memory. A use only raises a counter, it moves nothing.
package struct EvictionQueue: ~Copyable {
    private enum Segment { case small, main }

    private struct Node {
        var newer = EvictionQueue.none
        var older = EvictionQueue.none
        var hash = 0
        var size = 0
        /// Since it entered its queue, at most ``EvictionQueue/mostUses``.
        var uses: UInt8 = 0
        var segment = Segment.small
    }

    private struct Ends {
        var newest = EvictionQueue.none
        var oldest = EvictionQueue.none
        var bytes = 0
    }

    private static let none: Int32 = -1
    private static let mostUses: UInt8 = 3

    /// By number.
    private var nodes = PagedArray<Node>()
    private var small = Ends()
    private var main = Ends()
    private var ghosts = GhostHashes()
    /// How many items are queued.
    package private(set) var count = 0
    /// The sizes of all queued items together.
    package var bytes: Int { self.small.bytes + self.main.bytes }

    package init() {}

    /// - Parameters:
    ///   - number: of the new item, not queued now. Each number up to the largest takes memory.
    ///   - hash: the same whenever the item comes again.
    package mutating func insert(_ number: Int, size: Int, hash: Int) {
        while number >= self.nodes.count { self.nodes.append(Node()) }
        self.nodes[number].hash = hash
        self.nodes[number].size = size
        self.count += 1
        self.enqueue(number, in: self.ghosts.take(hash) ? .main : .small, uses: 0)
    }

    /// Notes that the item was used.
    package mutating func use(_ number: Int) {
        if self.nodes[number].uses < Self.mostUses { self.nodes[number].uses += 1 }
    }

    package mutating func resize(_ number: Int, to size: Int) {
        let change = size - self.nodes[number].size
        self.nodes[number].size = size
        self.change(self.nodes[number].segment) { $0.bytes += change }
    }

    /// Takes an item out that goes for another reason than room.
    package mutating func remove(_ number: Int) {
        self.dequeue(number)
        self.count -= 1
    }

    /// Takes out the item that makes room first.
    ///
    /// - Parameter steps: how many items may be looked at; less those that were. Used items get another chance, so
    ///   there may be many before the one that goes.
    /// - Returns: `nil` if the steps did not suffice, or if the queue is empty.
    package mutating func evict(_ steps: inout Int) -> Int? {
        while self.count > 0, steps > 0 {
            steps -= 1
            if self.small.bytes * 10 >= self.bytes, self.small.oldest != Self.none {
                let number = Int(self.small.oldest)
                self.dequeue(number)
                guard self.nodes[number].uses == 0 else {
                    self.enqueue(number, in: .main, uses: 0)
                    continue
                }
                self.count -= 1
                self.ghosts.insert(self.nodes[number].hash, most: self.count)
                return number
            }
            let number = Int(self.main.oldest)
            self.dequeue(number)
            guard self.nodes[number].uses == 0 else {
                self.enqueue(number, in: .main, uses: self.nodes[number].uses - 1)
                continue
            }
            self.count -= 1
            return number
        }
        return nil
    }

    private mutating func enqueue(_ number: Int, in segment: Segment, uses: UInt8) {
        let size = self.nodes[number].size
        let newest = segment == .small ? self.small.newest : self.main.newest
        self.nodes[number].uses = uses
        self.nodes[number].segment = segment
        self.nodes[number].newer = Self.none
        self.nodes[number].older = newest
        if newest != Self.none { self.nodes[Int(newest)].newer = Int32(number) }
        self.change(segment) { ends in
            ends.newest = Int32(number)
            if newest == Self.none { ends.oldest = Int32(number) }
            ends.bytes += size
        }
    }

    private mutating func dequeue(_ number: Int) {
        let node = self.nodes[number]
        if node.newer != Self.none { self.nodes[Int(node.newer)].older = node.older }
        if node.older != Self.none { self.nodes[Int(node.older)].newer = node.newer }
        self.change(node.segment) { ends in
            if node.newer == Self.none { ends.newest = node.older }
            if node.older == Self.none { ends.oldest = node.newer }
            ends.bytes -= node.size
        }
    }

    private mutating func change(_ segment: Segment, _ body: (inout Ends) -> Void) {
        switch segment {
        case .small: body(&self.small)
        case .main: body(&self.main)
        }
    }
}

/// The hashes of items that went from the small queue unused. Each has one place, and stays until a later one needs that.
private struct GhostHashes {
    private static let fewest = 32

    /// By the low bits of a hash, the high ones; 0 where there is none.
    private var places: [UInt32] = []

    /// - Parameter most: about how many hashes are kept.
    mutating func insert(_ hash: Int, most: Int) {
        // A larger table begins empty: it grows while the queue does, and then there are few ghosts yet.
        let least = max(Self.fewest, 2 * most)
        if self.places.count < least { self.places = Array(repeating: 0, count: Self.powerOfTwo(from: least)) }
        self.places[self.place(of: hash)] = Self.mark(hash)
    }

    /// Whether the hash is kept. Forgets it.
    mutating func take(_ hash: Int) -> Bool {
        guard !self.places.isEmpty, self.places[self.place(of: hash)] == Self.mark(hash) else { return false }
        self.places[self.place(of: hash)] = 0
        return true
    }

    private func place(of hash: Int) -> Int { hash & (self.places.count - 1) }

    private static func mark(_ hash: Int) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 32) | 1 }

    private static func powerOfTwo(from least: Int) -> Int {
        var power = 1
        while power < least { power *= 2 }
        return power
    }
}
