import HTTPCaching
import HTTPWire
import NIOCore
import Testing

/// A response, and why it is not stored.
struct StoringCase: Sendable, CustomTestStringConvertible {
    let status: String
    let fields: [String]
    var line = "GET /a"
    var asks: [String] = []
    var rules = CacheRules(maxObject: 100)
    var sent = Given.sent
    /// `nil`: it is stored.
    let refusal: Storability.Refusal?

    init(
        _ status: String,
        _ fields: String...,
        not refusal: Storability.Refusal? = nil,
        with change: (inout StoringCase) -> Void = { _ in }
    ) {
        self.status = status
        self.fields = fields
        self.refusal = refusal
        change(&self)
    }

    var testDescription: String {
        "\(self.line) \(self.asks.joined(separator: " | ")) ← \(self.status) \(self.fields.joined(separator: " | "))"
    }
}

extension StoringCase {
    /// RFC 9111 §3.
    static let all: [StoringCase] =
        [
            .init("200 OK", "Cache-Control: max-age=60"),
            .init("200 OK", "ETag: \"a\""),
            .init("200 OK", "Last-Modified: \(Given.earlier)"),
            .init("200 OK", "Last-Modified: \(Given.earlier)", "Cache-Control: no-cache"),
            .init("200 OK", not: .useless),
            .init("200 OK", "Cache-Control: max-age=0", not: .useless),
            .init("200 OK", "Cache-Control: max-age=60, no-cache", not: .useless),
            .init("200 OK", "Cache-Control: max-age=60", "Age: 60", not: .useless),
            .init("200 OK", "Cache-Control: max-age=60", "Date: \(Given.earlier)", not: .useless),
            .init("200 OK", "Expires: 0", not: .useless),
            .init("200 OK", "Expires: \(Given.later)"),
            .init("200 OK", "Cache-Control: max-age=0, stale-while-revalidate=9"),
            .init("200 OK", "Cache-Control: max-age=0, stale-if-error=9"),
            .init("200 OK", "Cache-Control: max-age=0, stale-if-error=9, must-revalidate", not: .useless),
            .init("200 OK", "ETag: \"a", not: .useless),
            .init("200 OK", "Last-Modified: yesterday", not: .useless),
            .init("200 OK") { $0.rules.defaultTTL = 9 },
            .init("200 OK") { $0.rules.staleIfError = 9 },
            .init("200 OK", "Cache-Control: no-store, max-age=60", not: .responseForbids),
            .init("200 OK", "Cache-Control: private, max-age=60"),
            .init("200 OK", "Cache-Control: private=\"X\", max-age=60"),
            .init("200 OK", "Cache-Control: no-store, must-understand, max-age=60"),
            .init("599 X", "Cache-Control: must-understand, max-age=60", not: .status),
            .init("200 OK", "Cache-Control: max-age=60", not: .requestForbids) {
                $0.asks = ["Cache-Control: no-store"]
            },
            .init("200 OK", "Cache-Control: max-age=60") { $0.asks = ["Cache-Control: no-cache, max-age=0"] },
            .init("200 OK", "Cache-Control: max-age=60", not: .method) { $0.line = "POST /a" },
            .init("200 OK", "Cache-Control: max-age=60", not: .method) { $0.line = "QUERY /a" },
            .init("200 OK", "Cache-Control: max-age=60", not: .method) { $0.asks = ["Content-Length: 3"] },
            .init("200 OK", "Cache-Control: max-age=60", not: .method) { $0.asks = ["X-HTTP-Method: PUT"] },
            .init("200 OK", "Cache-Control: max-age=60", "Content-Length: 100"),
            .init("200 OK", "Cache-Control: max-age=60", "Content-Length: 101", not: .tooLarge),
            .init("200 OK", "Cache-Control: max-age=60", "Content-Type: text/event-stream", not: .streaming),
            .init(
                "200 OK",
                "Cache-Control: max-age=60",
                "Content-Type: Text/Event-Stream; charset=utf-8",
                not: .streaming
            ),
            .init(
                "200 OK",
                "Cache-Control: max-age=60",
                "Content-Type: multipart/x-mixed-replace;boundary=x",
                not: .streaming
            ),
            .init("200 OK", "Cache-Control: max-age=60", "Content-Type: text/event-streams"),
            .init("200 OK", "Cache-Control: max-age=60", "Set-Cookie: a=b"),
            .init("200 OK", "Cache-Control: max-age=60", "Pragma: no-cache"),
            .init("200 OK", "Cache-Control: max-age=60", "Connection: Cache-Control", not: .malformed),
            .init("200 OK", "Cache-Control: max-age=60", "Connection: Vary", "Vary: A", not: .malformed),
            .init("200 OK", "Cache-Control: max-age=60", "Connection: X", "X: y"),
        ]
        + [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].map { .init("\($0) X", "ETag: \"a\"") }
        + [201, 202, 302, 303, 307, 400, 403, 500, 502, 503, 599].map { .init("\($0) X", "ETag: \"a\"", not: .status) }
        + [201, 302, 303, 307, 400, 403, 500, 503, 599].map { .init("\($0) X", "Cache-Control: max-age=60") }
        + [302, 403].map { .init("\($0) X", "Cache-Control: public", "ETag: \"a\"") }
        + [304, 401, 407, 412, 416, 417, 421, 426, 428, 429, 431, 511, 600, 999].map {
            .init("\($0) X", "Cache-Control: max-age=60", not: .status)
        }

    /// RFC 9111 §3.3 and §3.4: parts are neither stored nor put together.
    static let parts: [StoringCase] = [
        .init("206 Partial Content", "Cache-Control: max-age=60", "Content-Range: bytes 0-1/9", not: .status),
        .init("206 Partial Content", "Content-Range: bytes 0-8/9", "ETag: \"a\"", not: .status) {
            $0.asks = ["Range: bytes=0-"]
        },
        .init("206 Partial Content", "Content-Type: multipart/byteranges; boundary=x", not: .status),
        .init("226 IM Used", "Cache-Control: max-age=60", not: .status),
        .init("416 Range Not Satisfiable", "Cache-Control: max-age=60", not: .status) { $0.asks = ["Range: bytes=9-"] },
        // The upstream has ignored the range.
        .init("200 OK", "Cache-Control: max-age=60") { $0.asks = ["Range: bytes=0-1"] },
    ]

    /// RFC 9111 §3.5: it does not bind a private cache.
    static let authorized: [StoringCase] = [
        .init("200 OK", "Cache-Control: max-age=60") { $0.asks = ["Authorization: Bearer x"] },
        .init("200 OK", "Cache-Control: max-age=60, private") { $0.asks = ["Authorization: Bearer x"] },
        .init("200 OK", "Cache-Control: no-store, s-maxage=60", not: .responseForbids) {
            $0.asks = ["Authorization: Bearer x"]
        },
    ]

    /// RFC 9111 §4.1.
    static let varying: [StoringCase] =
        [("*", true), ("a, *", true), ("A", false), ("", false), ("a b", true), ("**", false), ("Forwarded", false)]
        .map { vary, isRefused in
            .init("200 OK", "Cache-Control: max-age=60", "Vary: \(vary)", not: isRefused ? .varies : nil)
        }
        + [("Forwarded", true), ("X-Forwarded-For", true), ("a, x-forwarded-PROTO", true), ("X-Real-IP", false)]
        .map { vary, isRefused in
            .init("200 OK", "Cache-Control: max-age=60", "Vary: \(vary)", not: isRefused ? .varies : nil) {
                $0.sent = SentFields(injectedName: "X-Key", asksForIdentity: false, appendsForwarded: true)
            }
        }
}

@Suite struct StorabilityTests {
    private func check(_ row: StoringCase) throws {
        let request = try Given.request(row.line, row.asks)
        let head = try Given.response(row.status, row.fields)
        var refusal: Storability.Refusal?
        do throws(Storability.Refusal) {
            _ = try StorableResponse(
                head,
                to: request,
                RequestDirectives(request),
                // A macro can't be used within a typed throw.
                Given.instant,
                row.rules,
                row.sent,
                owner: Given.owner
            )
        } catch {
            refusal = error
        }
        #expect(refusal == row.refusal)
    }

    @Test(arguments: StoringCase.all)
    func `RFC 9111 §3: what may be used again is stored`(_ row: StoringCase) throws { try self.check(row) }

    @Test(arguments: StoringCase.parts)
    func `RFC 9111 §3.3, §3.4: parts are not stored`(_ row: StoringCase) throws { try self.check(row) }

    @Test(arguments: StoringCase.authorized)
    func `RFC 9111 §3.5: Authorization does not forbid storing`(_ row: StoringCase) throws { try self.check(row) }

    @Test(arguments: StoringCase.varying)
    func `RFC 9111 §4.1: what no request can match is not stored`(_ row: StoringCase) throws { try self.check(row) }

    @Test(arguments: [
        ("Content-Length: 10", true), ("Content-Length: 11", false), ("Content-Length: 9", false), ("X: y", true),
    ])
    func `RFC 9111 §3.3: a body that is not as long as declared is not stored`(field: String, isStored: Bool) throws {
        let request = try Given.request()
        let storable = try StorableResponse(
            try Given.response("200 OK", "Cache-Control: max-age=60", field),
            to: request,
            RequestDirectives(request),
            Given.times(),
            CacheRules(),
            Given.sent,
            owner: Given.owner
        )
        let stored = storable.with(StoredBody(ByteBuffer(string: "0123456789")))
        #expect((stored != nil) == isStored)
        if let stored { #expect(stored.head.body == .length(10)) }
    }
}
