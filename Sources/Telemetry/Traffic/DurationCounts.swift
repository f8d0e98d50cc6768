/// How often something took how long: the numbers of a histogram.
package struct DurationCounts: Sendable {
    /// The buckets' upper bounds in microseconds; past the last there is one more bucket.
    package static let bounds: [Int64] = [
        500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
        1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000,
    ]

    /// One per bucket, each without those below it.
    private var counts = InlineArray<16, UInt64>(repeating: 0)
    /// Of all durations, in nanoseconds.
    private var nanoseconds: UInt64 = 0

    package init() {}

    /// Counts one more. A negative duration counts as none at all: a clock that is read twice may be a little off.
    package mutating func add(nanoseconds: Int64) {
        let nanoseconds = max(nanoseconds, 0)
        var bucket = 0
        while bucket < Self.bounds.count, nanoseconds > Self.bounds[bucket] &* 1_000 { bucket += 1 }
        self.counts[bucket] &+= 1
        self.nanoseconds &+= UInt64(nanoseconds)
    }

    /// Adds what another has counted.
    package mutating func add(_ other: DurationCounts) {
        for bucket in self.counts.indices { self.counts[bucket] &+= other.counts[bucket] }
        self.nanoseconds &+= other.nanoseconds
    }

    /// How many took no longer than each bound, and at the end how many there were.
    package var cumulative: [UInt64] {
        var sum: UInt64 = 0
        return self.counts.indices.map { bucket in
            sum &+= self.counts[bucket]
            return sum
        }
    }

    /// Of all durations.
    package var seconds: Double { Double(self.nanoseconds) / 1e9 }
}
