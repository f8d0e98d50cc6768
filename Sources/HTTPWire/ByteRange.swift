/// Where something stands in the bytes of a head: half-open, counted from the head's first byte.
package struct ByteRange: Equatable, Sendable {
    private let start: UInt32
    private let end: UInt32

    package init(_ lower: Int, _ upper: Int) {
        // A head is bounded far below 4 GiB by its limits.
        self.start = UInt32(truncatingIfNeeded: lower)
        self.end = UInt32(truncatingIfNeeded: upper)
    }

    package static let empty = ByteRange(0, 0)

    package var lower: Int { Int(self.start) }
    package var upper: Int { Int(self.end) }
    package var count: Int { Int(self.end) - Int(self.start) }
    package var isEmpty: Bool { self.start == self.end }
}
