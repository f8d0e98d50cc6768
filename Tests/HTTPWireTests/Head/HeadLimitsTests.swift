import HTTPWire
import NIOCore
import Testing

/// Tests each limit at its last byte and one byte beyond.
@Suite struct HeadLimitsTests {
    /// A request that is small except for the part under test.
    private static func request(target: String = "/", _ lines: [String]) -> [UInt8] {
        head(["GET \(target) HTTP/1.1", "Host: a"] + lines)
    }

    private static func answer(_ lines: [String]) -> [UInt8] {
        head(["HTTP/1.1 204 No Content"] + lines)
    }

    /// A field line of `count` bytes without its CRLF.
    private static func line(_ name: String = "X", of count: Int) -> String {
        name + ": " + String(repeating: "y", count: count - name.utf8.count - 2)
    }

    /// Field lines that make the head `count` bytes long.
    private static func lines(filling count: Int, after head: [UInt8], field: Int) -> [String] {
        var left = count - head.count
        var lines: [String] = []
        while left > 0 {
            // The last two lines share the remaining bytes, so that neither is too short for a field.
            let size = left <= field ? left : left <= 2 * field ? left / 2 : field
            lines.append(Self.line(of: size - 2))
            left -= size
        }
        return lines
    }

    private func expect(
        _ bytes: [UInt8],
        _ refusal: Refusal?,
        limits: HeadLimits = .request,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let whole = readRequest([bytes[...]], limits: limits)
        let pieces = stride(from: 0, to: bytes.count, by: 7).map { bytes[$0..<min($0 + 7, bytes.count)] }
        let inPieces = readRequest(pieces, limits: limits)
        if let refusal {
            #expect(whole == .refused(refusal), sourceLocation: sourceLocation)
        } else {
            #expect(whole.summary != nil, "\(whole)", sourceLocation: sourceLocation)
        }
        #expect(inPieces == whole, sourceLocation: sourceLocation)
    }

    @Test func `a target may have 8 KiB and not a byte more`() {
        let target = "/" + String(repeating: "a", count: 8191)
        self.expect(Self.request(target: target, []), nil)
        self.expect(Self.request(target: target + "b", []), .targetTooLong)
        self.expect(Self.request(target: target + "?", []), .targetTooLong)
        self.expect(Self.request(target: "http://a" + target.dropLast(8), []), nil)
        self.expect(Self.request(target: "http://a" + target.dropLast(7), []), .targetTooLong)
    }

    @Test func `a target that never ends is refused before the head's limit`() {
        let start = bytes("GET /" + String(repeating: "a", count: 8300))
        self.expect(start, .targetTooLong)
        #expect(readRequest([start.prefix(8 << 10)]) == .unfinished)
    }

    @Test func `a method that never ends is refused before the head's limit`() {
        self.expect(bytes(String(repeating: "A", count: 8300)), .badRequest)
        self.expect(head([String(repeating: "A", count: 8300) + " / HTTP/1.1", "Host: a"]), .badRequest)
    }

    @Test func `a request line may have 64 bytes more than a target, even if its end arrives later`() {
        for (length, refusal) in [(54, nil), (55, Refusal.targetTooLong)] {
            let line = String(repeating: "A", count: length) + " /" + String(repeating: "a", count: 8191) + " HTTP/1.1"
            let request = head([line, "Host: a"])
            self.expect(request, refusal)
            for end in line.utf8.count...(line.utf8.count + 2) {
                let reading = readRequest([request[..<end], request[end...]])
                #expect(refusal == nil ? reading.summary != nil : reading == .refused(.targetTooLong))
            }
        }
    }

    @Test func `a long request line with another fault gets the same refusal, however it arrives`() {
        let long = String(repeating: "a", count: 9000)
        for line in ["GET / HTTP/1.1\(long)", "GET / \(long)", "get /\(long) HTTP/1.1", "GET /\(long)\n"] {
            self.expect(head([line, "Host: a"]), .targetTooLong)
        }
        self.expect(bytes("GET /\(long.prefix(100))\n\(long)"), .badRequest)
    }

    @Test func `a field may have 16 KiB and not a byte more`() {
        self.expect(Self.request([Self.line(of: 16 << 10)]), nil)
        self.expect(Self.request([Self.line(of: 16 << 10 + 1)]), .headTooLarge)
        self.expect(Self.request([Self.line("A-Long-Name", of: 16 << 10)]), nil)
        self.expect(Self.request([Self.line("A-Long-Name", of: 16 << 10 + 1)]), .headTooLarge)
        self.expect(Self.request(["X:" + String(repeating: " ", count: 16 << 10 - 2)]), nil)
        self.expect(Self.request(["X:" + String(repeating: " ", count: 16 << 10 - 1)]), .headTooLarge)
    }

    @Test func `a head may have 200 fields and not one more`() {
        self.expect(Self.request(Array(repeating: "X: y", count: 199)), nil)
        self.expect(Self.request(Array(repeating: "X: y", count: 200)), .headTooLarge)
    }

    @Test func `a head may have 32 KiB and not a byte more`() {
        let small = Self.request([])
        for size in [32 << 10 - 1, 32 << 10] {
            let request = Self.request(Self.lines(filling: size, after: small, field: 16 << 10))
            #expect(request.count == size)
            self.expect(request, nil)
        }
        let request = Self.request(Self.lines(filling: 32 << 10 + 1, after: small, field: 16 << 10))
        #expect(request.count == 32 << 10 + 1)
        self.expect(request, .headTooLarge)
    }

    @Test func `a head that never ends is refused at its limit`() {
        let start =
            head(["GET / HTTP/1.1", "Host: a"]).dropLast(2) + bytes("X: " + String(repeating: "y", count: 32 << 10))
        self.expect(Array(start.prefix(32 << 10)), .headTooLarge)
        #expect(readRequest([start.prefix(32 << 10 - 1)]) == .unfinished)
    }

    @Test func `bytes after the head do not count towards its limit`() {
        let request = Self.request([]) + Array(repeating: 0x0A, count: 40 << 10)
        #expect(readRequest([request[...]]).summary?.rest.unicodeScalars.count == 40 << 10)
    }

    @Test func `configured limits apply`() {
        let limits = HeadLimits(head: 60, field: 10, fields: 3, target: 5)
        self.expect(Self.request(target: "/abcd", ["X: 4567890", "Y: z"]), nil, limits: limits)
        self.expect(Self.request(target: "/abcde", ["X: y"]), .targetTooLong, limits: limits)
        self.expect(Self.request(["X: 45678901"]), .headTooLarge, limits: limits)
        self.expect(Self.request(["X: y", "X: y", "X: y"]), .headTooLarge, limits: limits)
        self.expect(Self.request(["X: 4567890", "X: 4567890", "Yy: z"]), .headTooLarge, limits: limits)
    }

    @Test(arguments: [(64 << 10, true), (64 << 10 + 1, false)])
    func `a response's head may have 64 KiB and not a byte more`(size: Int, fits: Bool) {
        for field in [1 << 10, 60 << 10] {
            let answer = Self.answer(Self.lines(filling: size, after: Self.answer([]), field: field))
            #expect(answer.count == size)
            let reading = readAnswer([answer[...]])
            #expect(fits ? reading.summary != nil : reading == .refused(.headTooLarge))
        }
    }

    @Test func `a response's head that never ends is refused at its limit`() {
        let start = bytes("HTTP/1.1 200 " + String(repeating: "a", count: 64 << 10))
        #expect(readAnswer([start.prefix(64 << 10 - 1)]) == .unfinished)
        #expect(readAnswer([start.prefix(64 << 10)]) == .refused(.headTooLarge))
    }

    @Test(arguments: [(200, true), (201, false)])
    func `a response may have 200 fields and not one more`(count: Int, fits: Bool) {
        let reading = readAnswer([Self.answer(Array(repeating: "X: y", count: count))[...]])
        #expect(fits ? reading.summary?.fields.count == count : reading == .refused(.headTooLarge))
    }
}
