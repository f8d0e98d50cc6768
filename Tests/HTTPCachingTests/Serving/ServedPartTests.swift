import HTTPCaching
import HTTPWire
import NIOCore
import Testing

/// A request with conditions or a range, for a stored response of ten bytes.
struct PartCase: Sendable, CustomTestStringConvertible {
    let asks: [String]
    let part: ServedPart
    var line = "GET /a"
    var status = "200 OK"
    var stored = ["ETag: \"a\"", "Last-Modified: \(Given.earlier)", "Date: \(Given.date)", "Cache-Control: max-age=60"]
    var body = "0123456789"

    init(_ asks: String..., part: ServedPart, with change: (inout PartCase) -> Void = { _ in }) {
        self.asks = asks
        self.part = part
        change(&self)
    }

    var testDescription: String { "\(self.line) \(self.status) \(self.asks.joined(separator: " | "))" }
}

extension PartCase {
    /// RFC 9111 §4.3.2 and RFC 9110 §13.1.2, §13.1.3, §13.2.
    static let conditions: [PartCase] = [
        .init(part: .whole),
        .init("If-None-Match: \"a\"", part: .notModified),
        .init("If-None-Match: \"b\"", part: .whole),
        .init("If-None-Match: \"A\"", part: .whole),
        .init("If-None-Match: W/\"a\"", part: .notModified),
        .init("If-None-Match: w/\"a\"", part: .whole),
        .init("If-None-Match: \"b\", \"a\"", part: .notModified),
        .init("If-None-Match: \"b\"", "If-None-Match: \"a\"", part: .notModified),
        .init("If-None-Match: \"b,\"a\"", part: .whole),
        .init("If-None-Match: \"x, \\\", \"a\"", part: .notModified),
        .init("If-None-Match: *", part: .notModified),
        .init("If-None-Match: \"*\"", part: .whole),
        .init("If-None-Match: a", part: .whole),
        .init("If-None-Match:", part: .whole),
        .init("If-None-Match: *", part: .notModified) { $0.stored = ["Cache-Control: max-age=60"] },
        .init("If-None-Match: \"a\"", part: .whole) { $0.stored = ["Cache-Control: max-age=60"] },
        .init("If-None-Match: \"a\"", part: .notModified) { $0.stored = ["ETag: W/\"a\""] },
        .init("If-None-Match: abc", part: .notModified) { $0.stored = ["ETag: abc"] },
        .init("If-None-Match: \"a\"", part: .notModified) { $0.line = "HEAD /a" },
        .init("If-None-Match: \"a\"", part: .whole) { $0.status = "404 Not Found" },
        .init("If-None-Match: *", part: .whole) { $0.status = "301 Moved" },
        .init("If-None-Match: *", part: .notModified) { $0.status = "203 Other" },
        .init("If-Modified-Since: \(Given.earlier)", part: .notModified),
        .init("If-Modified-Since: \(Given.date)", part: .notModified),
        .init("If-Modified-Since: Thu, 26 Nov 2026 07:58:59 GMT", part: .whole),
        .init("If-Modified-Since: Thursday, 26-Nov-26 07:59:00 GMT", part: .notModified),
        .init("If-Modified-Since: yesterday", part: .whole),
        .init("If-Modified-Since:", part: .whole),
        .init("If-Modified-Since: \(Given.date)", "If-Modified-Since: \(Given.date)", part: .whole),
        .init("If-Modified-Since: \(Given.date)", part: .whole) { $0.status = "410 Gone" },
        // Without a date of the last change, the response's own date counts.
        .init("If-Modified-Since: \(Given.date)", part: .notModified) { $0.stored = ["ETag: \"a\""] },
        .init("If-Modified-Since: \(Given.earlier)", part: .whole) { $0.stored = ["ETag: \"a\""] },
        // The tag stands above the date.
        .init("If-None-Match: \"b\"", "If-Modified-Since: \(Given.date)", part: .whole),
        .init("If-None-Match: \"a\"", "If-Modified-Since: Thu, 26 Nov 2020 07:59:00 GMT", part: .notModified),
        // The condition stands above the range.
        .init("If-None-Match: \"a\"", "Range: bytes=0-1", part: .notModified),
        .init("If-None-Match: \"b\"", "Range: bytes=0-1", part: .range(0..<2)),
    ]

    /// RFC 9110 §14.1.2, §14.2.
    static let ranges: [PartCase] = [
        .init("Range: bytes=0-0", part: .range(0..<1)),
        .init("Range: bytes=2-4", part: .range(2..<5)),
        .init("Range: BYTES=2-4", part: .range(2..<5)),
        .init("Range: bytes= 2-4", part: .range(2..<5)),
        .init("Range: bytes=2-", part: .range(2..<10)),
        .init("Range: bytes=0-", part: .range(0..<10)),
        .init("Range: bytes=9-", part: .range(9..<10)),
        .init("Range: bytes=2-99", part: .range(2..<10)),
        .init("Range: bytes=2-99999999999999999999999", part: .range(2..<10)),
        .init("Range: bytes=-3", part: .range(7..<10)),
        .init("Range: bytes=-10", part: .range(0..<10)),
        .init("Range: bytes=-99999999999999999999999", part: .range(0..<10)),
        .init("Range: bytes=10-", part: .unsatisfiable),
        .init("Range: bytes=10-10", part: .unsatisfiable),
        .init("Range: bytes=99999999999999999999999-", part: .unsatisfiable),
        .init("Range: bytes=-0", part: .unsatisfiable),
        .init("Range: bytes=0-0", part: .unsatisfiable) { $0.body = "" },
        .init("Range: bytes=-1", part: .whole) { $0.body = "" },
        .init("Range: bytes=4-2", part: .whole),
        .init("Range: bytes=", part: .whole),
        .init("Range: bytes=-", part: .whole),
        .init("Range: bytes=2", part: .whole),
        .init("Range: bytes=a-b", part: .whole),
        .init("Range: bytes=2-4x", part: .whole),
        .init("Range: bytes=2--4", part: .whole),
        .init("Range: bytes=+2-4", part: .whole),
        .init("Range: bytes=0x1-4", part: .whole),
        .init("Range: bytes=2 -4", part: .whole),
        .init("Range: bytes=0-1,4-5", part: .whole),
        .init("Range: bytes=0-1", "Range: bytes=4-5", part: .whole),
        .init("Range: bytes 0-1", part: .whole),
        .init("Range: lines=0-1", part: .whole),
        .init("Range: byte=0-1", part: .whole),
        .init("Range:", part: .whole),
        .init("Range: bytes=0-1", part: .whole) { $0.line = "HEAD /a" },
        .init("Range: bytes=0-1", part: .whole) { $0.status = "404 Not Found" },
        .init("Range: bytes=0-1", part: .whole) { $0.status = "203 Other" },
    ]

    /// RFC 9110 §13.1.5.
    static let conditionalRanges: [PartCase] = [
        .init("Range: bytes=0-1", "If-Range: \"a\"", part: .range(0..<2)),
        .init("Range: bytes=0-1", "If-Range: \"b\"", part: .whole),
        .init("Range: bytes=0-1", "If-Range: W/\"a\"", part: .whole),
        .init("Range: bytes=0-1", "If-Range: W/\"a\"", part: .whole) { $0.stored = ["ETag: W/\"a\""] },
        .init("Range: bytes=0-1", "If-Range: \"a\"", part: .whole) { $0.stored = ["ETag: W/\"a\""] },
        .init("Range: bytes=0-1", "If-Range: \(Given.earlier)", part: .range(0..<2)),
        .init("Range: bytes=0-1", "If-Range: \(Given.date)", part: .whole),
        .init("Range: bytes=0-1", "If-Range: Thu, 26 Nov 2026 07:58:59 GMT", part: .whole),
        // Within the second of the response the content may have changed again.
        .init("Range: bytes=0-1", "If-Range: \(Given.date)", part: .whole) {
            $0.stored = ["Last-Modified: \(Given.date)", "Date: \(Given.date)"]
        },
        .init("Range: bytes=0-1", "If-Range: \"a\", \"b\"", part: .whole),
        .init("Range: bytes=0-1", "If-Range: *", part: .whole),
        .init("Range: bytes=0-1", "If-Range:", part: .whole),
        .init("Range: bytes=0-1", "If-Range: \"a\"", "If-Range: \"a\"", part: .whole),
        .init("Range: bytes=99-", "If-Range: \"b\"", part: .whole),
        .init("Range: bytes=99-", "If-Range: \"a\"", part: .unsatisfiable),
        .init("If-Range: \"a\"", part: .whole),
    ]
}

@Suite struct ServedPartTests {
    private func check(_ row: PartCase) throws {
        let request = try Given.request(row.line, row.asks)
        let stored = try Given.stored(row.stored, status: row.status, body: row.body)
        #expect(ServedPart(request, RequestDirectives(request), stored) == row.part)
    }

    @Test(arguments: PartCase.conditions)
    func `RFC 9110 §13, RFC 9111 §4.3.2: a condition of the caller's is answered from memory`(_ row: PartCase) throws {
        try self.check(row)
    }

    @Test(arguments: PartCase.ranges)
    func `RFC 9110 §14: one range of bytes is served, everything else is answered whole`(_ row: PartCase) throws {
        try self.check(row)
    }

    @Test(arguments: PartCase.conditionalRanges)
    func `RFC 9110 §13.1.5: a range for an older response gets the whole one`(_ row: PartCase) throws {
        try self.check(row)
    }
}

@Suite struct ServedResponseTests {
    private let fields = [
        "Content-Type: text/plain", "ETag: \"a\"", "Last-Modified: \(Given.earlier)", "Date: \(Given.date)",
        "Cache-Control: max-age=60", "Vary: A", "Expires: \(Given.later)", "Content-Location: /b", "X-Y: z",
        "Content-Encoding: gzip", "Set-Cookie: a=b",
    ]

    private func serve(_ asks: String..., line: String = "GET /a", of fields: [String]? = nil) throws -> ServedResponse
    {
        let request = try Given.request(line, asks)
        return ServedResponse(try Given.stored(fields ?? self.fields), to: request, RequestDirectives(request))
    }

    private func written(_ served: ServedResponse) -> [String] {
        String(buffer: CallerResponse.head(of: served.head, framing: served.head.body, close: false))
            .split(separator: "\r\n").map(String.init)
    }

    @Test func `a whole response is the stored head and body`() throws {
        let served = try self.serve()
        #expect(self.written(served) == ["HTTP/1.1 200 OK"] + self.fields.dropLast() + ["Content-Length: 10"])
        #expect(served.body == 0..<10 && served.head.body == .length(10))
    }

    @Test func `RFC 9110 §9.3.2: HEAD gets the same head, and no body`() throws {
        let served = try self.serve(line: "HEAD /a")
        #expect(self.written(served) == ["HTTP/1.1 200 OK"] + self.fields.dropLast() + ["Content-Length: 10"])
        #expect(served.body.isEmpty && served.head.body == .none)
    }

    @Test func `RFC 9110 §15.4.5: a 304 has the fields that a cache needs`() throws {
        let served = try self.serve("If-None-Match: \"a\"")
        #expect(
            self.written(served) == [
                "HTTP/1.1 304 Not Modified", "ETag: \"a\"", "Date: \(Given.date)", "Cache-Control: max-age=60",
                "Vary: A", "Expires: \(Given.later)", "Content-Location: /b",
            ]
        )
        #expect(served.body.isEmpty && served.head.body == .none && served.head.status == 304)
    }

    @Test func `RFC 9110 §15.4.5: a 304 has Last-Modified if there is no tag`() throws {
        let served = try self.serve(
            "If-Modified-Since: \(Given.date)",
            of: ["Last-Modified: \(Given.earlier)", "Date: \(Given.date)", "A: b"]
        )
        #expect(
            self.written(served)
                == ["HTTP/1.1 304 Not Modified", "Last-Modified: \(Given.earlier)", "Date: \(Given.date)"]
        )
    }

    @Test func `RFC 9110 §15.3.7: a part has the fields of the whole, its place and its length`() throws {
        let served = try self.serve("Range: bytes=2-4")
        #expect(
            self.written(served) == ["HTTP/1.1 206 Partial Content"] + self.fields.dropLast()
                + ["Content-Range: bytes 2-4/10", "Content-Length: 3"]
        )
        #expect(served.body == 2..<5 && served.head.body == .length(3))
    }

    @Test func `RFC 9110 §15.5.17: a range outside the body is told how long the body is`() throws {
        let served = try self.serve("Range: bytes=10-")
        #expect(
            self.written(served)
                == ["HTTP/1.1 416 Range Not Satisfiable", "Content-Range: bytes */10", "Content-Length: 0"]
        )
        #expect(served.body.isEmpty && served.head.body == .length(0))
    }
}
