import TokenStorage

extension [UInt8] {
    /// The positions after the first `count` bytes at which both have the same eight bytes in a row. Random bytes
    /// share none.
    func placesShared(with other: [UInt8], behind count: Int) -> [Int] {
        let end = Swift.min(self.count, other.count) - 7
        return (count..<Swift.max(end, count)).filter { self[$0..<$0 + 8] == other[$0..<$0 + 8] }
    }

    /// The length of the part that is the same for all values sealed under one key: the format and the key's id.
    static let sealedHeader = 1 + SealingKey.ID.byteCount
}
