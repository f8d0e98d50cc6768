import Testing
import TokenStorage

@Suite struct JournalFrameTests {
    private static let small = SealedBytes(bytes: Array(repeating: 7, count: 30))
    private static let large = SealedBytes(bytes: Array(repeating: 9, count: 1_200))

    /// A file with frames at the given blocks.
    private static func file(_ frames: [(block: Int, sealed: SealedBytes)]) -> [UInt8] {
        var file = [UInt8](repeating: 0, count: 16 * JournalBlocks.blockSize)
        for frame in frames {
            let bytes = JournalFrame.bytes(of: frame.sealed)
            let start = frame.block * JournalBlocks.blockSize
            file.replaceSubrange(start..<start + bytes.count, with: bytes)
        }
        return file
    }

    private static func found(in file: [UInt8], opens: (SealedBytes) -> Bool = { _ in true }) -> [Int: SealedBytes] {
        var found: [Int: SealedBytes] = [:]
        JournalFrame.scan(file) { sealed, block, _ in
            guard opens(sealed) else { return false }
            found[block] = sealed
            return true
        }
        return found
    }

    @Test func `frames are found at their blocks, with or without gaps`() {
        let file = Self.file([(0, Self.large), (3, Self.small), (9, Self.small)])

        #expect(Self.found(in: file) == [0: Self.large, 3: Self.small, 9: Self.small])
    }

    @Test func `a file of zeros has no frames, whatever its length`() {
        for count in [0, 1, 11, 12, 511, 512, 513, 5_000] {
            #expect(Self.found(in: [UInt8](repeating: 0, count: count)).isEmpty)
        }
    }

    @Test func `the scan continues after a frame that does not open, and also finds frames within it`() {
        var inner = Self.file([(0, Self.large)])
        inner.replaceSubrange(
            512..<512 + JournalFrame.bytes(of: Self.small).count,
            with: JournalFrame.bytes(of: Self.small)
        )

        #expect(Self.found(in: inner) { $0 == Self.small } == [1: Self.small])
    }

    @Test func `a length past the end of the file or past the largest sealed value is not a frame`() {
        for length: [UInt8] in [[0, 0, 0x20, 0], [0, 1, 0, 1], [0xFF, 0xFF, 0xFF, 0xFF]] {
            var file = Self.file([(14, Self.small), (2, Self.small)])
            file.replaceSubrange(14 * 512 + 8..<14 * 512 + 12, with: length)

            #expect(Self.found(in: file) == [2: Self.small])
        }
    }
}
