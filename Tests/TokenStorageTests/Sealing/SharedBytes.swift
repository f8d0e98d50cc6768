import TokenStorage

extension [UInt8] {
    /// Where `other` has the same eight bytes in a row, behind the first `count`: what is drawn at random shares none.
    func placesShared(with other: [UInt8], behind count: Int) -> [Int] {
        let end = Swift.min(self.count, other.count) - 7
        return (count..<Swift.max(end, count)).filter { self[$0..<$0 + 8] == other[$0..<$0 + 8] }
    }

    /// What sealed bytes begin with whatever is sealed: their format, and the id of the key.
    static let sealedHeader = 1 + SealingKey.ID.byteCount
}
