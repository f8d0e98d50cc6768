/// Finds small numbers by a hash.
///
/// It grows by one bucket with each insertion (linear hashing, Litwin 1980). A dictionary rehashes everything once in a
/// while, under the lock that it stands behind.
package struct HashIndex: ~Copyable {
    private struct Node {
        var hash: Int
        /// The next number in the bucket, or one of the two below.
        var next: Int32
    }

    private static let end: Int32 = -1
    private static let absent: Int32 = -2

    /// By number.
    private var nodes = PagedArray<Node>()
    /// The first number of each bucket.
    private var buckets = PagedArray<Int32>()
    /// One less than the power of two that `buckets.count` has reached or is on the way to.
    private var mask = 0
    private var count = 0

    package init() { self.buckets.append(Self.end) }

    private func bucket(of hash: Int) -> Int {
        let bucket = hash & self.mask
        return bucket < self.buckets.count ? bucket : bucket & (self.mask >> 1)
    }

    func contains(_ number: Int) -> Bool { number < self.nodes.count && self.nodes[number].next != Self.absent }

    /// A number that was inserted with `hash`; ``next(after:)`` has the others.
    package func first(_ hash: Int) -> Int? { self.match(hash, from: self.buckets[self.bucket(of: hash)]) }

    /// A further number with the hash of `number`.
    package func next(after number: Int) -> Int? { self.match(self.nodes[number].hash, from: self.nodes[number].next) }

    private func match(_ hash: Int, from first: Int32) -> Int? {
        var number = first
        while number != Self.end {
            if self.nodes[Int(number)].hash == hash { return Int(number) }
            number = self.nodes[Int(number)].next
        }
        return nil
    }

    /// - Parameter number: not in the index now. Each number up to the largest takes memory.
    package mutating func insert(_ number: Int, hash: Int) {
        while number >= self.nodes.count { self.nodes.append(Node(hash: 0, next: Self.absent)) }
        self.nodes[number].hash = hash
        self.link(number, into: self.bucket(of: hash))
        self.count += 1
        if self.count > self.buckets.count { self.split() }
    }

    /// - Parameter number: in the index now.
    package mutating func remove(_ number: Int) {
        let bucket = self.bucket(of: self.nodes[number].hash)
        let next = self.nodes[number].next
        self.nodes[number].next = Self.absent
        self.count -= 1
        var previous = self.buckets[bucket]
        guard previous != Int32(number) else {
            self.buckets[bucket] = next
            return
        }
        while self.nodes[Int(previous)].next != Int32(number) { previous = self.nodes[Int(previous)].next }
        self.nodes[Int(previous)].next = next
    }

    private mutating func link(_ number: Int, into bucket: Int) {
        self.nodes[number].next = self.buckets[bucket]
        self.buckets[bucket] = Int32(number)
    }

    /// Adds a bucket, and moves into it what belongs there now.
    private mutating func split() {
        let added = self.buckets.count
        if added > self.mask { self.mask = self.mask << 1 | 1 }
        let source = added & (self.mask >> 1)
        self.buckets.append(Self.end)
        var number = self.buckets[source]
        self.buckets[source] = Self.end
        while number != Self.end {
            let next = self.nodes[Int(number)].next
            self.link(Int(number), into: self.bucket(of: self.nodes[Int(number)].hash))
            number = next
        }
    }
}
