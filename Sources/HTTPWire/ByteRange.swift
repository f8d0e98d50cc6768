/// Where something stands in the bytes of a head: half-open, counted from the head's first byte.
package struct ByteRange: Equatable, Sendable {
    private let start: UInt32
    private let end: UInt32

    /// From `lower` up to before `upper`.
    package init(_ lower: Int, _ upper: Int) {
        // A head is bounded far below 4 GiB by its limits.
        self.start = UInt32(truncatingIfNeeded: lower)
        self.end = UInt32(truncatingIfNeeded: upper)
    }

    /// Nothing, nowhere.
    package static let empty = ByteRange(0, 0)

    /// The first byte.
    package var lower: Int { Int(self.start) }
    /// Behind the last byte.
    package var upper: Int { Int(self.end) }
    /// In bytes.
    package var count: Int { Int(self.end) - Int(self.start) }
    /// Whether no byte is in it.
    package var isEmpty: Bool { self.start == self.end }
}
