import NIOCore
import Proxy
import Testing

@Suite struct SmallWritesTests {
    /// The writes that come of `pieces`, with a flush at the end.
    private func writes(_ pieces: [ByteBuffer]) -> [ByteBuffer] {
        var small = SmallWrites()
        var writes: [ByteBuffer] = []
        for piece in pieces where !small.gather(piece) {
            if let gathered = small.take() { writes.append(gathered) }
            writes.append(piece)
        }
        if let gathered = small.take() { writes.append(gathered) }
        return writes
    }

    @Test func `a thousand chunks of a byte are few writes, and not a byte of them is lost or moved`() {
        let pieces = (0..<1_000).flatMap { number in
            [ByteBuffer(string: "1\r\n"), ByteBuffer(string: "\(number % 10)"), ByteBuffer(string: "\r\n")]
        }
        let writes = self.writes(pieces)
        #expect(writes.count <= 4)
        #expect(writes.map { String(buffer: $0) }.joined() == pieces.map { String(buffer: $0) }.joined())
    }

    @Test func `what is large goes as it is, behind what was before it`() {
        let large = ByteBuffer(repeating: 0x61, count: 65)
        let writes = self.writes([ByteBuffer(string: "a"), ByteBuffer(string: "b"), large, ByteBuffer(string: "c")])
        #expect(writes.map { String(buffer: $0) } == ["ab", String(buffer: large), "c"])
    }

    @Test func `gathering leaves the pieces alone`() {
        let first = ByteBuffer(string: "a")
        _ = self.writes([first, ByteBuffer(string: "b")])
        #expect(String(buffer: first) == "a")
    }

    @Test func `nothing is no write`() {
        #expect(self.writes([]).isEmpty)
        #expect(self.writes([ByteBuffer()]).isEmpty)
    }
}
