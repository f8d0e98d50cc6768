import HTTPCaching
import HTTPWire
import NIOCore
import Testing

@Suite struct StoredBodyTests {
    @Test(arguments: [0, 1, 100, 3_072, 3_073, 4_095, 4_096, 4_097, 7_168, 7_169, 8_192, 100_000, 1 << 20])
    func `it reads as it was written, whole and in part`(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        let body = StoredBody(ByteBuffer(bytes: bytes))

        #expect(body.count == count)
        for range in [0..<count, count / 3..<count, 0..<count / 2, count / 4..<count / 2, count..<count] {
            var copied = ByteBuffer(string: "before ")
            body.copy(range, into: &copied)
            #expect(Array(copied.readableBytesView.dropFirst(7)) == Array(bytes[range]))
        }
    }

    @Test(arguments: [1, 500, 4_096, 10_000], [50_001, 4_096, 4_095, 100])
    func `it is the same however its bytes came, and whether its length was known`(piece: Int, count: Int) throws {
        let unknown = try self.stored(Given.bytes(count), length: nil, piece: piece)
        let known = try self.stored(Given.bytes(count), length: count, piece: piece)
        #expect(known == unknown)
    }

    /// What the cache uses for a body that came in pieces.
    private func stored(_ bytes: ByteBuffer, length: Int?, piece: Int) throws -> Int {
        let cache = ResponseCache(maxSize: 1 << 20, maxObject: 1 << 20)
        let fill = try cache.lead(Given.key("/a"))
        #expect(fill.start(length: length))
        var rest = bytes
        while rest.readableBytes > 0, let part = rest.readSlice(length: min(piece, rest.readableBytes)) {
            #expect(fill.append(part))
        }
        let stored = try #require(fill.finish { try? Given.stored($0) })

        var copied = ByteBuffer()
        stored.body.copy(0..<stored.body.count, into: &copied)
        #expect(copied == bytes)
        return cache.statistics.bytes
    }

    @Test(arguments: [100, 5_000]) func `it takes no more bytes than it was made for`(length: Int) throws {
        let body = StoredBody(length: length, pool: BlockPool(), budget: MemoryBudget(limit: .max))
        #expect(body.append(Given.bytes(length)))
        #expect(!body.append(Given.bytes(1)))
        #expect(body.count == length)
    }

    @Test func `its memory is zeroed and free when the last reader is done, not before`() throws {
        let pool = BlockPool()
        let budget = MemoryBudget(limit: 1 << 20)
        var body: StoredBody? = StoredBody(pool: pool, budget: budget)
        #expect(try #require(body).append(Given.bytes(2 * Block.size)))
        var reader = body
        body = nil

        #expect(pool.warm == 0)
        #expect(try #require(reader).count == 2 * Block.size)
        reader = nil
        #expect(pool.warm == 2)
        var blocks: [Block] = []
        #expect(pool.fill(&blocks, upTo: 2))
        #expect(blocks.allSatisfy { $0.isZero })
    }
}

@Suite struct StoredHeadMemoryTests {
    @Test func `a head is zeroed when the last reader of its response is done, not before`() throws {
        let cache = ResponseCache(maxSize: 1 << 20, maxObject: 1 << 20)
        let key = Given.key("/a")
        var reader = try cache.store(key, 10)
        // The same memory.
        let bytes = try #require(reader).head.bytes
        #expect(cache.purge { _, _ in true }.entries == 1)
        #expect(String(buffer: bytes).hasPrefix("HTTP/1.1 200 OK\r\n"))

        withExtendedLifetime(reader) {}
        reader = nil

        #expect(bytes.readableBytesView.allSatisfy { $0 == 0 })
    }
}

@Suite struct BlockPoolTests {
    @Test func `blocks come back zeroed`() {
        let pool = BlockPool()
        var blocks: [Block] = []
        #expect(pool.fill(&blocks, upTo: 3))
        for block in blocks { block.write(0xFF) }
        pool.take(blocks)

        // The same memory.
        var again: [Block] = []
        #expect(pool.fill(&again, upTo: 3))
        #expect(Set(again) == Set(blocks))
        #expect(again.allSatisfy { $0.isZero })
    }

    @Test func `blocks that nobody needs give their memory back, and read as zeroes later`() {
        let pool = BlockPool()
        var blocks: [Block] = []
        #expect(pool.fill(&blocks, upTo: 1_000))
        for block in blocks { block.write(0xFF) }
        pool.take(blocks)

        #expect(pool.warm < 100)
        var again: [Block] = []
        #expect(pool.fill(&again, upTo: 1_000))
        #expect(Set(again) == Set(blocks))
        #expect(again.allSatisfy { $0.isZero })
    }
}

extension Block {
    fileprivate func write(_ byte: UInt8) {
        // The test has taken the block.
        unsafe self.bytes.copyBytes(from: Array(repeating: byte, count: Self.size))
    }

    fileprivate var isZero: Bool {
        // The test has taken the block.
        unsafe self.bytes.allSatisfy { $0 == 0 }
    }
}
