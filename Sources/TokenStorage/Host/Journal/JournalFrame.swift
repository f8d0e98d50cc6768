/// Something sealed as it stands in a journal's file: a mark, the length and the sealed bytes, from the beginning of a
/// block on.
///
/// Where it stands is authenticated with it (the block is the version it is sealed for), so that of a torn frame, and of
/// what is left of an older one beneath a newer one, nothing opens.
package enum JournalFrame {
    private static let mark: [UInt8] = Array("mjournl1".utf8)
    /// In place of the mark once the store has acknowledged the entry.
    static let settledMark: [UInt8] = Array("msettld1".utf8)
    /// How many bytes a frame has beside what is sealed.
    package static let headerCount = mark.count + 4

    /// The bytes of a frame.
    package static func bytes(of sealed: SealedBytes) -> [UInt8] {
        Self.mark + UInt32(clamping: sealed.bytes.count).bigEndianBytes + sealed.bytes
    }

    /// What may be a frame in `file`, in order, and the block that each begins at. Whether it is one shows when it is opened.
    ///
    /// - Parameter opens: whether what begins at a block is whole; then the search goes on behind it, else in the next block.
    package static func scan(
        _ file: [UInt8],
        opens: (SealedBytes, _ block: Int, _ isSettled: Bool) -> Bool
    ) {
        var block = 0
        while let (sealed, isSettled) = Self.next(in: file, from: &block) {
            let isWhole = opens(sealed, block, isSettled)
            let count = isWhole ? Self.headerCount + sealed.bytes.count : 1
            block += (count + JournalBlocks.blockSize - 1) / JournalBlocks.blockSize
        }
    }

    private static func next(
        in file: [UInt8],
        from block: inout Int
    ) -> (sealed: SealedBytes, isSettled: Bool)? {
        while block * JournalBlocks.blockSize + Self.headerCount <= file.count {
            let rest = file[(block * JournalBlocks.blockSize)...]
            let isSettled = rest.starts(with: Self.settledMark)
            if isSettled || rest.starts(with: Self.mark) {
                let count = rest.dropFirst(Self.mark.count).prefix(4).reduce(0) { $0 << 8 | Int($1) }
                let sealed = rest.dropFirst(Self.headerCount).prefix(count)
                if count <= SealedBytes.maximumCount, sealed.count == count {
                    return (SealedBytes(bytes: Array(sealed)), isSettled)
                }
            }
            block += 1
        }
        return nil
    }
}
