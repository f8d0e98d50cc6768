/// Which blocks of a journal's file are taken.
package struct JournalBlocks: Equatable, Sendable {
    /// In bytes; what is kept begins at such a boundary, where a reader looks for it.
    package static let blockSize = 512

    private var isTaken: [Bool]

    package init(count: Int) {
        self.isTaken = Array(repeating: false, count: count)
    }

    /// Whether nothing is kept.
    package var isEmpty: Bool { !self.isTaken.contains(true) }

    /// Takes the first blocks in a row that hold `bytes`; `nil` where there are none.
    package mutating func take(bytes: Int) -> JournalPlace? {
        let wanted = (bytes + Self.blockSize - 1) / Self.blockSize
        guard wanted > 0 else { return nil }
        var start = 0
        for block in self.isTaken.indices {
            if self.isTaken[block] { start = block + 1 }
            guard block + 1 - start == wanted else { continue }
            for block in start...block { self.isTaken[block] = true }
            return JournalPlace(blocks: start..<block + 1)
        }
        return nil
    }

    /// Gives blocks back; those that were never given are ignored.
    package mutating func give(back place: JournalPlace) {
        for block in place.blocks where self.isTaken.indices.contains(block) { self.isTaken[block] = false }
    }
}
