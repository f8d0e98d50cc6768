import Testing
import TokenStorage

@Suite struct JournalBlocksTests {
    @Test func `each entry begins at a block of its own`() {
        var blocks = JournalBlocks(count: 8)

        #expect(blocks.take(bytes: 1) == JournalPlace(blocks: 0..<1))
        #expect(blocks.take(bytes: 512) == JournalPlace(blocks: 1..<2))
        #expect(blocks.take(bytes: 513) == JournalPlace(blocks: 2..<4))
    }

    @Test func `a full journal accepts only entries that fit the remaining blocks`() {
        var blocks = JournalBlocks(count: 4)
        _ = blocks.take(bytes: 3 * 512)

        #expect(blocks.take(bytes: 2 * 512) == nil)
        #expect(blocks.take(bytes: 512) == JournalPlace(blocks: 3..<4))
        #expect(blocks.take(bytes: 1) == nil)
        #expect(blocks.take(bytes: 0) == nil)
    }

    @Test func `released blocks are used again`() {
        var blocks = JournalBlocks(count: 4)
        let places = (0..<4).compactMap { _ in blocks.take(bytes: 512) }
        #expect(!blocks.isEmpty)

        blocks.give(back: places[1])
        blocks.give(back: places[2])

        #expect(blocks.take(bytes: 1_024) == JournalPlace(blocks: 1..<3))
        for place in places { blocks.give(back: place) }
        blocks.give(back: JournalPlace(blocks: 7..<9))
        #expect(blocks.isEmpty)
    }

    @Test func `a journal has room for hundreds of accounts, or for fifteen of the largest records`() {
        var (small, large) = (JournalBlocks(count: 2_048), JournalBlocks(count: 2_048))

        #expect((0..<500).allSatisfy { _ in small.take(bytes: 2_000) != nil })
        #expect((0..<15).allSatisfy { _ in large.take(bytes: SealedBytes.maximumCount + 12) != nil })
    }
}
