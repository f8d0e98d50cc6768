import HTTPCaching
import TestKit
import Testing

@Suite struct EvictionQueueTests {
    @Test func `what was used stays, what was not goes first`() {
        var queue = EvictionQueue()
        for number in 0..<4 { queue.insert(number, size: 100, hash: number) }
        queue.use(0)
        queue.use(2)

        #expect(queue.evictAll() == [1, 3, 0, 2])
    }

    @Test func `what comes back soon is not taken for new`() {
        var queue = EvictionQueue()
        for number in 0..<20 { queue.insert(number, size: 100, hash: number) }
        #expect(queue.evictOne() == 0)
        queue.insert(0, size: 100, hash: 0)

        // The small queue goes down to a tenth before the main queue gives anything.
        #expect(queue.evictAll().suffix(3).contains(0))
    }

    @Test func `what was taken out is not evicted`() {
        var queue = EvictionQueue()
        for number in 0..<5 { queue.insert(number, size: 10, hash: number) }
        for number in [0, 2, 4] { queue.remove(number) }

        #expect(queue.count == 2)
        #expect(queue.bytes == 20)
        #expect(queue.evictAll() == [1, 3])
        #expect(queue.bytes == 0)
    }

    @Test func `a changed size counts`() {
        var queue = EvictionQueue()
        queue.insert(0, size: 10, hash: 0)
        queue.resize(0, to: 25)

        #expect(queue.bytes == 25)
        #expect(queue.evictOne() == 0)
        #expect(queue.bytes == 0)
    }

    @Test func `one call looks at no more items than it may`() {
        var queue = EvictionQueue()
        for number in 0..<100 {
            queue.insert(number, size: 10, hash: number)
            queue.use(number)
        }

        var steps = 10
        #expect(queue.evict(&steps) == nil)
        #expect(steps == 0)
        #expect(queue.count == 100)
        steps = 1_000
        #expect(queue.evict(&steps) == 0)
    }

    @Test(arguments: [1, 2, 3]) func `it keeps more of what is asked for than an exact LRU`(seed: UInt64) {
        let trace = ZipfTrace(seed: seed, items: 4_000, requests: 60_000, sizes: 100...20_000)
        let bound = trace.sizes.reduce(0, +) / 4
        var lru = ExactLRU(bound: bound, sizes: trace.sizes)
        var queue = EvictionQueue()
        var present = Set<Int>()
        var hits = 0
        for item in trace.requests {
            lru.ask(item)
            guard !present.contains(item) else {
                hits += 1
                queue.use(item)
                continue
            }
            while queue.bytes + trace.sizes[item] > bound, let victim = queue.evictOne() { present.remove(victim) }
            queue.insert(item, size: trace.sizes[item], hash: item)
            present.insert(item)
        }

        #expect(hits >= lru.hits)
        #expect(queue.count == present.count)
    }
}

extension EvictionQueue {
    fileprivate mutating func evictOne() -> Int? {
        var steps = Int.max
        return self.evict(&steps)
    }

    fileprivate mutating func evictAll() -> [Int] {
        var evicted: [Int] = []
        while let number = self.evictOne() { evicted.append(number) }
        return evicted
    }
}

/// Items of many sizes, the n-th of which is asked for 1/n times as often as the first.
struct ZipfTrace {
    let sizes: [Int]
    let requests: [Int]

    init(seed: UInt64, items: Int, requests: Int, sizes: ClosedRange<Int>) {
        var generator = SeededGenerator(seed: seed)
        self.sizes = (0..<items).map { _ in Int.random(in: sizes, using: &generator) }
        var sums: [Double] = []
        for item in 1...items { sums.append((sums.last ?? 0) + 1 / Double(item)) }
        self.requests = (0..<requests).map { _ in
            let drawn = Double.random(in: 0..<(sums.last ?? 1), using: &generator)
            var (low, high) = (0, items - 1)
            while low < high {
                let middle = (low + high) / 2
                if sums[middle] < drawn { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }
}

/// Gives up what was not used for longest.
private struct ExactLRU {
    let bound: Int
    let sizes: [Int]
    private(set) var hits = 0
    private var bytes = 0
    /// In a ring: the place after the last item is its beginning and end.
    private var newer: [Int]
    private var older: [Int]
    private var present: [Bool]

    init(bound: Int, sizes: [Int]) {
        self.bound = bound
        self.sizes = sizes
        self.newer = Array(repeating: sizes.count, count: sizes.count + 1)
        self.older = self.newer
        self.present = Array(repeating: false, count: sizes.count)
    }

    mutating func ask(_ item: Int) {
        if self.present[item] {
            self.hits += 1
            self.unlink(item)
        } else {
            while self.bytes + self.sizes[item] > self.bound {
                let victim = self.newer[self.sizes.count]
                self.unlink(victim)
                self.present[victim] = false
                self.bytes -= self.sizes[victim]
            }
            self.present[item] = true
            self.bytes += self.sizes[item]
        }
        let end = self.sizes.count
        let newest = self.older[end]
        (self.older[item], self.newer[item]) = (newest, end)
        (self.newer[newest], self.older[end]) = (item, item)
    }

    private mutating func unlink(_ item: Int) {
        self.newer[self.older[item]] = self.newer[item]
        self.older[self.newer[item]] = self.older[item]
    }
}
