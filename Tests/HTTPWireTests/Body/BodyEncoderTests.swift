import HTTPWire
import NIOCore
import Testing

@Suite struct BodyEncoderTests {

    @Test func `a request without a body may not send a byte`() {
        var encoder = BodyEncoder(.none)
        let frame = encoder.frame(1)
        let end = encoder.end()
        #expect(frame == .refused)
        #expect(end == .short)
    }

    @Test func `a request without a body ends without a byte`() {
        var encoder = BodyEncoder(.none)
        let end = encoder.end()
        #expect(end == .silent)
        #expect(encoder.isEnded)
    }

    @Test(
        arguments: [
            ([3], BodyEncoder.End.silent), ([1, 1, 1], .silent), ([0, 3, 0], .silent), ([], .short), ([2], .short),
            ([1, 1], .short),
        ]
    )
    func `a body goes unchanged up to its length`(counts: [Int], end expected: BodyEncoder.End) {
        var encoder = BodyEncoder(.length(3))
        for count in counts {
            let frame = encoder.frame(count)
            #expect(frame == .plain)
        }
        let end = encoder.end()
        #expect(end == expected)
    }

    @Test(arguments: [[4], [3, 1], [1, 1, 1, 1], [.max], [2, .max], [-1], [3, -1]])
    func `a piece beyond the length is refused, and so is everything after it`(counts: [Int]) {
        var encoder = BodyEncoder(.length(3))
        for count in counts.dropLast() {
            let frame = encoder.frame(count)
            #expect(frame == .plain)
        }
        let beyond = encoder.frame(counts[counts.count - 1])
        let next = encoder.frame(1)
        let end = encoder.end()
        #expect(beyond == .refused)
        #expect(next == .refused)
        #expect(end == .short)
    }

    @Test(
        arguments: [
            (1, "1"), (9, "9"), (10, "a"), (15, "f"), (16, "10"), (255, "ff"), (256, "100"), (4096, "1000"),
            (0x1_0000, "10000"),
            (0xABCDEF, "abcdef"), (.max, "7fffffffffffffff"),
        ]
    )
    func `a chunk begins with its size in hexadecimal`(count: Int, size: String) {
        var encoder = BodyEncoder(.chunked)
        let frame = encoder.frame(count)
        let end = encoder.end()
        #expect(frame == .chunk(before: ByteBuffer(string: size + "\r\n")))
        #expect(end == .lastChunk)
    }

    @Test func `empty content makes no chunk, because an empty chunk is the last one`() {
        var encoder = BodyEncoder(.chunked)
        let empty = encoder.frame(0)
        let next = encoder.frame(5)
        #expect(empty == .plain)
        #expect(next == .chunk(before: ByteBuffer(string: "5\r\n")))
    }

    @Test func `a body that ends at close goes unchanged`() {
        var encoder = BodyEncoder(.untilClose)
        let frame = encoder.frame(1 << 40)
        let end = encoder.end()
        #expect(frame == .plain)
        #expect(end == .close)
    }

    @Test(arguments: [BodyFraming.none, .length(0), .length(3), .chunked, .untilClose])
    func `the end is written once, and nothing after it`(framing: BodyFraming) {
        var encoder = BodyEncoder(framing)
        #expect(!encoder.isEnded)
        _ = encoder.end()
        let frame = encoder.frame(1)
        let again = encoder.end()
        #expect(frame == .refused)
        #expect(again == .silent)
        #expect(encoder.isEnded)
    }
}
