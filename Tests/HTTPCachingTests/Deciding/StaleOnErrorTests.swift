import HTTPCaching
import Testing
import TokenModel

/// A request that met an error, what is stored for it, and whether that may stand in.
struct ErrorCase: Sendable, CustomTestStringConvertible {
    let asks: String
    let says: String
    let after: Int
    let mayServe: Bool
    var rule: Int

    init(_ asks: String, _ says: String, after: Int, rule: Int = 0, _ mayServe: Bool) {
        self.asks = asks
        self.says = says
        self.after = after
        self.rule = rule
        self.mayServe = mayServe
    }

    var testDescription: String { "\(self.asks) ← \(self.says) after \(self.after) s, rule \(self.rule) s" }
}

extension ErrorCase {
    /// RFC 5861 §4.
    static let all: [ErrorCase] = [
        .init("", "max-age=60", after: 70, false),
        .init("", "max-age=60, stale-if-error=30", after: 60, true),
        .init("", "max-age=60, stale-if-error=30", after: 89, true),
        .init("", "max-age=60, stale-if-error=30", after: 90, false),
        .init("", "max-age=60, stale-if-error=0", after: 60, false),
        .init("stale-if-error=30", "max-age=60", after: 89, true),
        .init("stale-if-error=30", "max-age=60", after: 90, false),
        // Each is an upper limit.
        .init("stale-if-error=10", "max-age=60, stale-if-error=30", after: 70, false),
        .init("stale-if-error=30", "max-age=60, stale-if-error=10", after: 70, false),
        .init("stale-if-error=30", "max-age=60, stale-if-error=10", after: 69, true),
        .init("", "max-age=60", after: 89, rule: 30, true),
        .init("", "max-age=60", after: 90, rule: 30, false),
        .init("", "max-age=60, stale-if-error=5", after: 70, rule: 30, false),
        .init("stale-if-error=5", "max-age=60", after: 70, rule: 30, false),
        .init("", "max-age=60, must-revalidate, stale-if-error=30", after: 61, false),
        .init("", "max-age=60, no-cache, stale-if-error=30", after: 61, false),
        .init("stale-if-error=30", "max-age=60, must-revalidate", after: 61, rule: 30, false),
        .init("no-cache", "max-age=60, stale-if-error=30", after: 10, false),
        .init("no-cache, stale-if-error=30", "max-age=60, stale-if-error=30", after: 10, false),
        .init("no-store", "max-age=60, stale-if-error=30", after: 61, false),
        .init("max-age=5", "max-age=60, stale-if-error=30", after: 10, false),
        .init("max-age=999", "max-age=60, stale-if-error=30", after: 61, false),
        .init("max-age=5, stale-if-error=30", "max-age=60, stale-if-error=30", after: 61, true),
        .init("max-stale=5", "max-age=60, stale-if-error=30", after: 65, true),
        .init("max-stale=5", "max-age=60, stale-if-error=30", after: 66, false),
        .init("max-stale", "max-age=60, stale-if-error=30", after: 89, true),
        .init("min-fresh=5", "max-age=60, stale-if-error=30", after: 61, false),
        .init("", "max-age=60", after: 10, true),
    ]
}

@Suite struct StaleOnErrorTests {
    @Test(arguments: ErrorCase.all)
    func `RFC 5861 §4: a stale response stands in for an error as long as all allow it`(_ row: ErrorCase) throws {
        let stored = try Given.stored(["ETag: \"a\"", "Cache-Control: \(row.says)"])
        let directives = RequestDirectives(
            try Given.request("GET /a", row.asks.isEmpty ? [] : ["Cache-Control: \(row.asks)"])
        )
        let rules = CacheRules(staleIfError: row.rule)
        #expect(stored.mayServeOnError(directives, rules, at: Given.now(row.after)) == row.mayServe)
    }

    @Test func `RFC 9111 §4.3.3: errors are 500, 502, 503 and 504`() {
        #expect((100..<600).filter(StoredResponse.isError) == [500, 502, 503, 504])
    }
}
