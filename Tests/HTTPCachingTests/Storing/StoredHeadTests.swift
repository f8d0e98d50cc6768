import HTTPCaching
import HTTPWire
import NIOCore
import Testing
import TextCoding
import TokenModel

@Suite struct StoredHeadTests {
    /// RFC 9111 §3.1: a field, and whether it is stored.
    static let fields: [(String, Bool)] = [
        ("Content-Type: text/plain", true), ("X-Any:  two  words ", true), ("ETag: W/\"a\"", true), ("x_y: z", true),
        ("Link: </v2/x>", true), ("Content-Encoding: gzip", true), ("Via: 1.1 b", true), ("Empty:", true),
        ("Connection: close", false), ("Keep-Alive: timeout=5", false), ("Transfer-Encoding: chunked", false),
        ("Proxy-Authenticate: x", false), ("Upgrade: h2c", false), ("Age: 5", false), ("Set-Cookie: a=b", false),
        ("Trailer: X", false), ("Content-Length: 10", false), ("Proxy-Connection: close", false), ("TE: x", false),
    ]

    @Test(arguments: fields)
    func `RFC 9111 §3.1: fields of one connection or exchange are not stored, others byte for byte`(
        field: String,
        isStored: Bool
    ) throws {
        let head = try Given.response("200 Fine", field, "Date: \(Given.date)")
        let stored = try #require(StoredHead.make(from: head, bodyLength: 7, at: Given.instant.receivedAtWall))
        let lines = isStored ? [field] : []
        #expect(stored.lines == ["HTTP/1.1 200 Fine"] + lines + ["Date: \(Given.date)", "Content-Length: 7"])
        #expect(stored.body == .length(7))
    }

    @Test func `RFC 9111 §3.1: what Connection names is not stored`() throws {
        let head = try Given.response("200 OK", "Connection: X-Hop", "X-Hop: 1", "X-End: 2", "Date: \(Given.date)")
        let stored = try #require(StoredHead.make(from: head, bodyLength: nil, at: Given.instant.receivedAtWall))
        #expect(stored.lines == ["HTTP/1.1 200 OK", "X-End: 2", "Date: \(Given.date)"])
    }

    @Test(arguments: ["Cache-Control", "Vary", "Expires", "ETag", "Last-Modified"])
    func `RFC 9111 §3.1: a response whose Connection hides what caches go by has no stored form`(name: String) throws {
        let head = try Given.response("200 OK", "Connection: \(name)", "\(name): x")
        #expect(StoredHead.make(from: head, bodyLength: nil, at: Given.instant.receivedAtWall) == nil)
    }

    @Test func `RFC 9110 §6.6.1: a response without a date gets the time when it came`() throws {
        let stored = try Given.stored(["Cache-Control: max-age=60"])
        #expect(stored.head.lines.contains("Date: \(Given.date)"))
    }

    @Test func `the length is added once the body has come, and a 204 has none`() throws {
        let stored = try Given.stored(["ETag: \"a\"", "Date: \(Given.date)", "Transfer-Encoding: chunked"])
        #expect(stored.head.lines == ["HTTP/1.1 200 OK", "ETag: \"a\"", "Date: \(Given.date)", "Content-Length: 10"])
        #expect(stored.head.body == .length(10))
        let empty = try Given.stored(["ETag: \"a\"", "Date: \(Given.date)"], status: "204 No Content", body: "")
        #expect(empty.head.lines == ["HTTP/1.1 204 No Content", "ETag: \"a\"", "Date: \(Given.date)"])
    }

    @Test func `a stored head keeps nothing of the buffer alive that it came in`() throws {
        // Given a head in a large buffer
        var buffer = ByteBuffer(string: "HTTP/1.1 200 OK\r\nETag: \"a\"\r\n\r\n")
        buffer.writeRepeatingByte(0x20, count: 1 << 20)
        var parser = ResponseHeadParser()
        let head = try #require(try parser.next(&buffer, answering: .get))
        // Then its stored form holds little more than its bytes
        let stored = try #require(StoredHead.make(from: head, bodyLength: 3, at: Given.instant.receivedAtWall))
        #expect(stored.bytes.storageCapacity <= 256)
    }
}

/// A stored response, a 304, and the lines that are stored then.
struct UpdateCase: Sendable, CustomTestStringConvertible {
    let stored: [String]
    let update: [String]
    /// Without `Date` and `Content-Length`, which both have.
    let lines: [String]

    init(_ stored: [String], _ update: [String], _ lines: [String]) {
        self.stored = stored
        self.update = update
        self.lines = lines
    }

    var testDescription: String { "\(self.stored.joined(separator: " | ")) ← \(self.update.joined(separator: " | "))" }
}

extension UpdateCase {
    /// RFC 9111 §3.2.
    static let all: [UpdateCase] = [
        .init(["A: 1", "ETag: \"e\""], [], ["A: 1", "ETag: \"e\""]),
        .init(["A: 1", "ETag: \"e\""], ["A: 2"], ["ETag: \"e\"", "A: 2"]),
        .init(["A: 1", "ETag: \"e\"", "a: 2"], ["A: 3"], ["ETag: \"e\"", "A: 3"]),
        .init(["A: 1", "ETag: \"e\""], ["a: 2", "A: 3"], ["ETag: \"e\"", "a: 2", "A: 3"]),
        .init(["ETag: \"e\""], ["B: 1"], ["ETag: \"e\"", "B: 1"]),
        .init(["ETag: \"e\""], ["ETag: \"e\""], ["ETag: \"e\""]),
        .init(
            ["ETag: \"e\"", "Cache-Control: max-age=1"],
            ["Cache-Control: max-age=9"],
            ["ETag: \"e\"", "Cache-Control: max-age=9"]
        ),
        .init(["ETag: \"e\"", "Content-Type: a/b"], ["Content-Type: a/c"], ["ETag: \"e\"", "Content-Type: a/c"]),
        // They describe the stored bytes.
        .init(["ETag: \"e\""], ["Content-Length: 99"], ["ETag: \"e\""]),
        .init(
            ["ETag: \"e\"", "Content-Encoding: gzip"],
            ["Content-Encoding: br"],
            ["ETag: \"e\"", "Content-Encoding: gzip"]
        ),
        .init(["ETag: \"e\""], ["Content-Range: bytes 0-1/2"], ["ETag: \"e\""]),
        // They belong to the 304.
        .init(
            ["ETag: \"e\""],
            ["Age: 5", "Set-Cookie: a=b", "Connection: X", "X: 1", "Keep-Alive: x"],
            ["ETag: \"e\""]
        ),
        .init(["ETag: \"e\"", "X: 1"], ["Connection: X", "X: 2"], ["ETag: \"e\"", "X: 1"]),
    ]
}

@Suite struct UpdatedHeadTests {
    private func confirm(
        _ stored: StoredResponse,
        _ fields: [String],
        delay: Int = 0,
        at seconds: Int = 100
    ) throws -> StoredResponse? {
        stored.confirmed(
            by: try Given.response("304 Not Modified", fields),
            to: try Given.request(),
            try Given.times(delay: delay, at: seconds),
            CacheRules(),
            Given.sent,
            owner: Given.owner
        )
    }

    @Test(arguments: UpdateCase.all)
    func `RFC 9111 §3.2: a 304 replaces fields, and keeps the body`(_ row: UpdateCase) throws {
        let stored = try Given.stored(row.stored)
        let updated = try #require(try self.confirm(stored, row.update))
        let lines = updated.head.lines.dropFirst().filter { !$0.hasPrefix("Date:") && $0 != "Content-Length: 10" }
        #expect(lines == row.lines)
        #expect(updated.head.body == .length(10) && updated.head.status == 200)
        #expect(updated.body === stored.body)
    }

    @Test func `RFC 9111 §4.3.4: a confirmed response is fresh again`() throws {
        let stored = try Given.stored(["ETag: \"e\"", "Cache-Control: max-age=60", "Date: \(Given.date)"])
        for fields in [[], ["Date: Thu, 26 Nov 2026 08:01:40 GMT"]] {
            let updated = try #require(try self.confirm(stored, fields))
            #expect(updated.freshness.ttl(at: Given.now(100)) == 60)
            #expect(updated.head.lines.contains("Date: Thu, 26 Nov 2026 08:01:40 GMT"))
        }
    }

    @Test func `RFC 9111 §4.3.4: the 304's own age counts`() throws {
        let stored = try Given.stored(["ETag: \"e\"", "Cache-Control: max-age=60", "Age: 50"])
        let updated = try #require(try self.confirm(stored, ["Age: 7"], delay: 2))
        #expect(updated.freshness.age(at: Given.now(100)) == 9)
    }

    @Test func `RFC 9111 §4.3.4: directives and validators are those of the 304`() throws {
        let stored = try Given.stored(["ETag: \"a\"", "Cache-Control: max-age=60"])
        let updated = try #require(
            try self.confirm(
                stored,
                ["Cache-Control: no-cache, max-age=5", "ETag: W/\"a\"", "Last-Modified: \(Given.earlier)"]
            )
        )
        #expect(updated.directives.noCache && updated.freshness.lifetime == 5)
        let lines = "If-None-Match: W/\"a\"\r\nIf-Modified-Since: \(Given.earlier)\r\n"
        #expect(String(decoding: updated.validators.lines(), as: UTF8.self) == lines)
    }

    /// RFC 9111 §4.3.4: the stored validators, those of the 304, and whether it means the stored response.
    static let selections: [([String], [String], Bool)] = [
        (["ETag: \"a\""], [], true),
        (["ETag: \"a\""], ["ETag: \"a\""], true),
        (["ETag: \"a\""], ["ETag: \"b\""], false),
        (["ETag: \"a\""], ["ETag: \"A\""], false),
        (["ETag: W/\"a\""], ["ETag: W/\"a\""], true),
        (["ETag: \"a\""], ["ETag: W/\"a\""], true),
        (["ETag: W/\"a\""], ["ETag: \"a\""], false),
        (["Last-Modified: \(Given.earlier)"], ["Last-Modified: \(Given.earlier)"], true),
        (["Last-Modified: \(Given.earlier)"], ["Last-Modified: \(Given.date)"], false),
        (["Last-Modified: \(Given.earlier)"], ["ETag: \"a\""], false),
        (["Last-Modified: \(Given.earlier)"], ["ETag: W/\"a\""], false),
        (["ETag: \"a\"", "Last-Modified: \(Given.earlier)"], ["Last-Modified: \(Given.date)"], true),
        (["ETag: \"a\"", "Last-Modified: \(Given.earlier)"], ["ETag: \"a\"", "Last-Modified: \(Given.date)"], true),
    ]

    @Test(arguments: selections)
    func `RFC 9111 §4.3.4: a 304 with other validators means another response`(
        stored: [String],
        update: [String],
        isMeant: Bool
    ) throws {
        #expect((try self.confirm(Given.stored(stored), update) != nil) == isMeant)
    }

    /// RFC 9111 §4.3.4: what a 304 may bring that ends the storing.
    @Test(arguments: [["Cache-Control: no-store"], ["Vary: *"], ["Connection: ETag", "ETag: \"a\""]])
    func `RFC 9111 §4.3.4: a response that may no longer be stored is not kept`(fields: [String]) throws {
        #expect(try self.confirm(Given.stored(["ETag: \"a\""]), fields) == nil)
    }

    @Test func `a head that updates would let grow for ever is not kept`() throws {
        var stored = try Given.stored(["ETag: \"a\""])
        var rounds = 0
        while let updated = try self.confirm(stored, ["X-\(rounds): y"]) {
            stored = updated
            rounds += 1
            try #require(rounds < 250)
        }
        #expect(rounds == 197)
    }
}

@Suite struct FreshenedByHEADTests {
    /// RFC 9111 §4.3.5: the stored validators, a response to HEAD, and what it shows.
    static let rows: [([String], [String], Bool?)] = [
        (["ETag: \"a\""], ["ETag: \"a\""], true),
        (["ETag: \"a\""], ["ETag: \"b\""], false),
        (["ETag: \"a\""], ["ETag: W/\"a\""], false),
        (["ETag: \"a\""], [], nil),
        (["ETag: \"a\""], ["Content-Length: 10"], true),
        (["ETag: \"a\""], ["Content-Length: 11"], false),
        (["ETag: \"a\""], ["ETag: \"a\"", "Content-Length: 11"], false),
        (["ETag: \"a\""], ["ETag: \"a\"", "Content-Length: 10"], true),
        (["ETag: \"a\""], ["Last-Modified: \(Given.earlier)"], false),
        (["Last-Modified: \(Given.earlier)"], ["Last-Modified: \(Given.earlier)"], true),
        (["Last-Modified: \(Given.earlier)"], ["Last-Modified: \(Given.date)"], false),
        (["Last-Modified: \(Given.earlier)"], ["ETag: \"a\""], false),
    ]

    @Test(arguments: rows)
    func `RFC 9111 §4.3.5: a response to HEAD confirms what is stored, or shows that it is old`(
        stored: [String],
        fields: [String],
        isFreshened: Bool?
    ) throws {
        let head = try Given.response("200 OK", fields, to: .head)
        #expect(try Given.stored(stored).isFreshened(byHEAD: head) == isFreshened)
    }

    @Test func `RFC 9111 §4.3.5: an error to HEAD shows nothing`() throws {
        let head = try Given.response("404 Not Found", "ETag: \"b\"", to: .head)
        #expect(try Given.stored(["ETag: \"a\""]).isFreshened(byHEAD: head) == nil)
        let found = try Given.response("200 OK", "ETag: \"b\"", to: .head)
        #expect(try Given.stored(["ETag: \"a\""], status: "404 Not Found").isFreshened(byHEAD: found) == nil)
    }

    @Test func `RFC 9111 §4.3.5: a confirmation by HEAD updates the fields`() throws {
        let stored = try Given.stored(["ETag: \"a\"", "A: 1", "Cache-Control: max-age=60"])
        let head = try Given.response("200 OK", "ETag: \"a\"", "A: 2", "Content-Length: 10", to: .head)
        let updated = try #require(
            stored.confirmed(
                by: head,
                to: try Given.request("HEAD /a"),
                try Given.times(at: 50),
                CacheRules(),
                Given.sent,
                owner: Given.owner
            )
        )
        #expect(updated.head.lines.contains("A: 2") && !updated.head.lines.contains("A: 1"))
        #expect(updated.freshness.ttl(at: Given.now(50)) == 60)
    }
}
