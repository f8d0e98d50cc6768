import HTTPCaching
import HTTPWire
import Testing
import TokenModel

/// A request, what is stored for it, and what is done.
struct DecisionCase: Sendable, CustomTestStringConvertible {
    let name: String
    var line = "GET /a"
    var asks: [String] = []
    /// Of the stored response; `nil` if nothing is stored.
    var stored: [String]? = ["Cache-Control: max-age=60", "ETag: \"a\""]
    /// How long it has been stored, in seconds.
    var after = 10
    var otherVariants = false
    let decision: CacheDecision

    init(_ name: String, _ decision: CacheDecision, with change: (inout DecisionCase) -> Void = { _ in }) {
        self.name = name
        self.decision = decision
        change(&self)
    }

    /// A request with `Cache-Control: asks` for a response with `Cache-Control: says` and an `ETag`.
    init(_ asks: String, _ says: String, after: Int, _ decision: CacheDecision) {
        self.init("\(asks) ← \(says) after \(after) s", decision) {
            $0.asks = asks.isEmpty ? [] : ["Cache-Control: \(asks)"]
            $0.stored = ["ETag: \"a\"", "Cache-Control: \(says)"]
            $0.after = after
        }
    }

    var testDescription: String { self.name }

    func decide() throws -> CacheDecision {
        let request = try Given.request(self.line, self.asks)
        return CacheDecision(
            request,
            RequestDirectives(request),
            stored: try self.stored.map { try Given.stored($0) },
            otherVariants: self.otherVariants,
            at: Given.now(self.after)
        )
    }
}

extension DecisionCase {
    /// RFC 9111 §4.
    static let lookups: [DecisionCase] = [
        .init("fresh", .serve(ttl: 50)),
        .init("nothing stored", .forward(.uriMiss)) { $0.stored = nil },
        .init("other fields", .forward(.varyMiss)) {
            $0.stored = nil
            $0.otherVariants = true
        },
        .init("HEAD", .serve(ttl: 50)) { $0.line = "HEAD /a" },
        .init("POST", .forward(.method)) { $0.line = "POST /a" },
        .init("PUT", .forward(.method)) { $0.line = "PUT /a" },
        .init("DELETE", .forward(.method)) { $0.line = "DELETE /a" },
        .init("PATCH", .forward(.method)) { $0.line = "PATCH /a" },
        .init("OPTIONS", .forward(.method)) { $0.line = "OPTIONS /a" },
        .init("QUERY", .forward(.method)) { $0.line = "QUERY /a" },
        .init("GET with a body", .forward(.bypass)) { $0.asks = ["Content-Length: 1"] },
        .init("GET with an empty body", .serve(ttl: 50)) { $0.asks = ["Content-Length: 0"] },
        .init("GET with chunks", .forward(.bypass)) { $0.asks = ["Transfer-Encoding: chunked"] },
        .init("GET that may be a DELETE", .forward(.bypass)) { $0.asks = ["X-HTTP-Method-Override: DELETE"] },
        .init("WebSocket", .forward(.bypass)) { $0.asks = ["Connection: Upgrade", "Upgrade: websocket"] },
        .init("If-Match", .forward(.bypass)) { $0.asks = ["If-Match: \"a\""] },
        .init("If-Unmodified-Since", .forward(.bypass)) { $0.asks = ["If-Unmodified-Since: \(Given.date)"] },
        .init("If-None-Match", .serve(ttl: 50)) { $0.asks = ["If-None-Match: \"a\""] },
        .init("Range", .serve(ttl: 50)) { $0.asks = ["Range: bytes=0-1"] },
        .init("stale, to be confirmed", .revalidate(.stale)) { $0.after = 60 },
        .init("stale, and nothing to be recognized by", .forward(.stale)) {
            $0.stored = ["Cache-Control: max-age=60"]
            $0.after = 60
        },
        .init("refused, and nothing to be recognized by", .forward(.request)) {
            $0.stored = ["Cache-Control: max-age=60"]
            $0.asks = ["Cache-Control: no-cache"]
        },
    ]

    /// RFC 9111 §5.2.1.1–7: what the request says.
    static let demands: [DecisionCase] = [
        .init("max-age=11", "max-age=60", after: 10, .serve(ttl: 50)),
        .init("max-age=10", "max-age=60", after: 10, .revalidate(.request)),
        .init("max-age=0", "max-age=60", after: 0, .revalidate(.request)),
        .init("max-age=0", "max-age=60", after: 1, .revalidate(.request)),
        .init("max-age=x", "max-age=60", after: 1, .revalidate(.request)),
        .init("max-age=100", "max-age=60", after: 60, .revalidate(.stale)),
        .init("max-age=100, max-stale=5", "max-age=60", after: 65, .serve(ttl: -5)),
        .init("max-age=60, max-stale=5", "max-age=60", after: 65, .revalidate(.request)),
        .init("max-stale", "max-age=60", after: 100_000, .serve(ttl: -99_940)),
        .init("max-stale=10", "max-age=60", after: 70, .serve(ttl: -10)),
        .init("max-stale=10", "max-age=60", after: 71, .revalidate(.stale)),
        .init("max-stale=0", "max-age=60", after: 61, .revalidate(.stale)),
        .init("max-stale=x", "max-age=60", after: 61, .revalidate(.stale)),
        .init("min-fresh=50", "max-age=60", after: 10, .serve(ttl: 50)),
        .init("min-fresh=51", "max-age=60", after: 10, .revalidate(.request)),
        .init("min-fresh=x", "max-age=60", after: 10, .revalidate(.request)),
        .init("min-fresh=1, max-stale", "max-age=60", after: 60, .revalidate(.request)),
        .init("no-cache", "max-age=60", after: 10, .revalidate(.request)),
        .init("no-cache, max-stale", "max-age=60", after: 10, .revalidate(.request)),
        .init("no-store", "max-age=60", after: 10, .forward(.request)),
        .init("no-transform", "max-age=60", after: 10, .serve(ttl: 50)),
        .init("only-if-cached", "max-age=60", after: 10, .serve(ttl: 50)),
        .init("only-if-cached", "max-age=60", after: 60, .refuse),
        .init("only-if-cached, no-cache", "max-age=60", after: 10, .refuse),
        .init("only-if-cached, max-stale", "max-age=60", after: 70, .serve(ttl: -10)),
        .init("only-if-cached", "max-age=60, stale-while-revalidate=60", after: 70, .serveAndRevalidate(ttl: -10)),
        .init("only-if-cached, and nothing stored", .refuse) {
            $0.asks = ["Cache-Control: only-if-cached"]
            $0.stored = nil
        },
    ]

    /// RFC 9111 §4.2.4 and §5.2.2: what the response forbids, whoever accepts it.
    static let prohibitions: [DecisionCase] = [
        .init("", "no-cache, max-age=60", after: 1, .revalidate(.stale)),
        .init("max-stale", "no-cache, max-age=60", after: 1, .revalidate(.stale)),
        .init("", "no-cache=\"X\", max-age=60", after: 1, .revalidate(.stale)),
        .init("", "no-cache, max-age=60, stale-while-revalidate=99", after: 70, .revalidate(.stale)),
        .init("", "max-age=60, must-revalidate", after: 59, .serve(ttl: 1)),
        .init("", "max-age=60, must-revalidate", after: 60, .revalidate(.stale)),
        .init("max-stale", "max-age=60, must-revalidate", after: 60, .revalidate(.stale)),
        .init("max-stale=99", "max-age=60, must-revalidate", after: 61, .revalidate(.stale)),
        .init("", "max-age=60, must-revalidate, stale-while-revalidate=99", after: 61, .revalidate(.stale)),
        .init("only-if-cached, max-stale", "max-age=60, must-revalidate", after: 60, .refuse),
        // They bind shared caches.
        .init("max-stale", "max-age=60, proxy-revalidate", after: 61, .serve(ttl: -1)),
        .init("max-stale", "max-age=60, s-maxage=1", after: 61, .serve(ttl: -1)),
        .init("", "max-age=60, s-maxage=1", after: 10, .serve(ttl: 50)),
        .init("", "max-age=60, private", after: 10, .serve(ttl: 50)),
        // Nothing says how long it is fresh.
        .init("", "private", after: 0, .revalidate(.stale)),
    ]

    /// RFC 5861 §3.
    static let revalidations: [DecisionCase] = [
        .init("", "max-age=60, stale-while-revalidate=30", after: 59, .serve(ttl: 1)),
        .init("", "max-age=60, stale-while-revalidate=30", after: 60, .serveAndRevalidate(ttl: 0)),
        .init("", "max-age=60, stale-while-revalidate=30", after: 89, .serveAndRevalidate(ttl: -29)),
        .init("", "max-age=60, stale-while-revalidate=30", after: 90, .revalidate(.stale)),
        .init("", "max-age=60, stale-while-revalidate=0", after: 60, .revalidate(.stale)),
        .init("", "max-age=60, stale-while-revalidate=x", after: 60, .revalidate(.stale)),
        .init("max-age=999", "max-age=60, stale-while-revalidate=30", after: 70, .revalidate(.stale)),
        .init(
            "max-age=999, max-stale",
            "max-age=60, stale-while-revalidate=30",
            after: 70,
            .serveAndRevalidate(ttl: -10)
        ),
        .init("max-stale=5", "max-age=60, stale-while-revalidate=30", after: 65, .serveAndRevalidate(ttl: -5)),
        .init("max-stale=5", "max-age=60, stale-while-revalidate=30", after: 66, .revalidate(.stale)),
        .init("max-stale=99", "max-age=60, stale-while-revalidate=30", after: 100, .serve(ttl: -40)),
        .init("no-cache", "max-age=60, stale-while-revalidate=30", after: 70, .revalidate(.request)),
        .init("nothing to be recognized by", .serveAndRevalidate(ttl: -10)) {
            $0.stored = ["Cache-Control: max-age=60, stale-while-revalidate=30"]
            $0.after = 70
        },
    ]
}

@Suite struct CacheDecisionTests {
    @Test(arguments: DecisionCase.lookups)
    func `RFC 9111 §4: a stored response answers GET and HEAD while it is fresh`(_ row: DecisionCase) throws {
        #expect(try row.decide() == row.decision)
    }

    @Test(arguments: DecisionCase.demands)
    func `RFC 9111 §5.2.1: the request may refuse what is stored, or accept it stale`(_ row: DecisionCase) throws {
        #expect(try row.decide() == row.decision)
    }

    @Test(arguments: DecisionCase.prohibitions)
    func `RFC 9111 §4.2.4, §5.2.2: what the response forbids is not done`(_ row: DecisionCase) throws {
        #expect(try row.decide() == row.decision)
    }

    @Test(arguments: DecisionCase.revalidations)
    func `RFC 5861 §3: a stale response is served while it is revalidated`(_ row: DecisionCase) throws {
        #expect(try row.decide() == row.decision)
    }

    @Test(arguments: [
        ("no-cache", true), ("pragma", true), ("max-age=5", false),
    ])
    func `RFC 9111 §5.4: Pragma asks for a confirmation where there is no Cache-Control`(
        asks: String,
        isConfirmed: Bool
    ) throws {
        let fields = asks == "pragma" ? [] : ["Cache-Control: \(asks)"]
        let row = DecisionCase(asks, isConfirmed ? .revalidate(.request) : .serve(ttl: 59)) {
            $0.asks = fields + ["Pragma: no-cache"]
            $0.after = 1
        }
        #expect(try row.decide() == row.decision)
    }

    @Test(arguments: ["113 - \"Heuristic expiration\"", "110 - \"Response is stale\"", "199 a \"x\""])
    func `RFC 9111 §5.5: Warning means nothing`(warning: String) throws {
        let row = DecisionCase(warning, .serve(ttl: 50)) {
            $0.stored = ["Cache-Control: max-age=60", "Warning: \(warning)"]
        }
        #expect(try row.decide() == row.decision)
    }
}
