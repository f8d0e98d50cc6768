import HTTPCaching
import Testing

/// Lines of a request, and what they demand.
struct RequestDemand: Sendable, CustomTestStringConvertible {
    let fields: [String]
    /// What differs from a request without demands.
    let demands: String

    init(_ fields: String..., demand demands: String) {
        self.fields = fields
        self.demands = demands
    }

    var testDescription: String { self.fields.joined(separator: " | ") }
}

extension RequestDemand {
    /// RFC 9111 §5.2.1.
    static let cacheControl: [RequestDemand] = [
        .init(demand: ""),
        .init("Cache-Control:", demand: ""),
        .init("Cache-Control: no-cache", demand: "no-cache"),
        .init("cache-control: NO-CACHE", demand: "no-cache"),
        .init("Cache-Control: no-cache=x", demand: "no-cache"),
        .init("Cache-Control: no-store", demand: "no-store"),
        .init("Cache-Control: only-if-cached", demand: "only-if-cached"),
        .init("Cache-Control: no-cached, xno-store, no_cache", demand: ""),
        .init("Cache-Control: max-age=60", demand: "max-age=60"),
        .init("Cache-Control: max-age=\"60\"", demand: "max-age=60"),
        .init("Cache-Control: max-age=060", demand: "max-age=60"),
        .init("Cache-Control: max-age=60, max-age=30", demand: "max-age=30"),
        .init("Cache-Control: max-age=30", "Cache-Control: max-age=60", demand: "max-age=30"),
        .init("Cache-Control: max-age=2147483648", demand: "max-age=2147483648"),
        .init("Cache-Control: max-age=99999999999999999999999", demand: "max-age=2147483648"),
        .init("Cache-Control: max-age", demand: "max-age=0"),
        .init("Cache-Control: max-age=", demand: "max-age=0"),
        .init("Cache-Control: max-age=-1", demand: "max-age=0"),
        .init("Cache-Control: max-age=1.5", demand: "max-age=0"),
        .init("Cache-Control: max-age =60", demand: "max-age=0"),
        .init("Cache-Control: max-age= 60", demand: "max-age=0"),
        .init("Cache-Control: min-fresh=5, min-fresh=9", demand: "min-fresh=9"),
        .init("Cache-Control: min-fresh=x", demand: "min-fresh=any"),
        .init("Cache-Control: max-stale", demand: "max-stale=any"),
        .init("Cache-Control: max-stale=5", demand: "max-stale=5"),
        .init("Cache-Control: max-stale, max-stale=5", demand: "max-stale=5"),
        .init("Cache-Control: max-stale=x", demand: "max-stale=0"),
        .init("Cache-Control: stale-if-error=60", demand: "stale-if-error=60"),
        .init("Cache-Control: stale-if-error=60, stale-if-error", demand: "stale-if-error=0"),
        .init("Cache-Control: ,, no-cache\t,no-store ,", demand: "no-cache no-store"),
        .init("Cache-Control: x=\"no-cache, no-store\"", demand: ""),
        .init("Cache-Control: x=\"\\\", no-store\"", demand: ""),
        // A quote that none closes hides nothing.
        .init("Cache-Control: x=\"a, no-store", demand: "no-store"),
        .init("Cache-Control: x=\"a\", y=\", no-store", demand: "no-store"),
        .init("Connection: Cache-Control", "Cache-Control: no-store", demand: "no-store"),
    ]

    /// RFC 9111 §5.4.
    static let pragma: [RequestDemand] = [
        .init("Pragma: no-cache", demand: "no-cache"),
        .init("Pragma: x, No-Cache", demand: "no-cache"),
        .init("Pragma: x", demand: ""),
        .init("Pragma: no-cache", "Cache-Control: max-age=5", demand: "max-age=5"),
        .init("Cache-Control: max-stale", "Pragma: no-cache", demand: "max-stale=any"),
    ]

    /// RFC 9110 §13.1 and §14.2.
    static let conditions: [RequestDemand] = [
        .init("If-Match: *", demand: "if-match"),
        .init("If-None-Match: *", demand: "if-none-match"),
        .init("If-Modified-Since: \(Given.date)", demand: "if-modified-since"),
        .init("If-Unmodified-Since: \(Given.date)", demand: "if-unmodified-since"),
        .init("Range: bytes=0-1", "If-Range: \"a\"", demand: "range if-range"),
        .init("If-None-Matches: *", "X-Range: 1", demand: ""),
        .init("Connection: If-None-Match", "If-None-Match: *", demand: ""),
    ]
}

@Suite struct RequestDirectivesTests {
    private func demands(_ fields: [String]) throws -> String {
        let read = RequestDirectives(try Given.request("GET /a", fields))
        var words: [String] = []
        if read.noCache { words.append("no-cache") }
        if read.noStore { words.append("no-store") }
        if read.onlyIfCached { words.append("only-if-cached") }
        let numbers = [
            ("max-age", read.maxAge), ("min-fresh", read.minFresh), ("max-stale", read.maxStale),
            ("stale-if-error", read.staleIfError),
        ]
        for (name, number) in numbers {
            if let number { words.append("\(name)=\(number == .max ? "any" : String(number))") }
        }
        let conditions: [(RequestConditions, String)] = [
            (.match, "if-match"), (.noneMatch, "if-none-match"), (.modifiedSince, "if-modified-since"),
            (.unmodifiedSince, "if-unmodified-since"), (.range, "range"), (.ifRange, "if-range"),
        ]
        words += conditions.filter { read.conditions.contains($0.0) }.map(\.1)
        return words.joined(separator: " ")
    }

    @Test(arguments: RequestDemand.cacheControl)
    func `RFC 9111 §5.2.1: a request's Cache-Control is read, strictly where it is malformed`(
        _ row: RequestDemand
    ) throws {
        #expect(try self.demands(row.fields) == row.demands)
    }

    @Test(arguments: RequestDemand.pragma)
    func `RFC 9111 §5.4: Pragma counts where there is no Cache-Control`(_ row: RequestDemand) throws {
        #expect(try self.demands(row.fields) == row.demands)
    }

    @Test(arguments: RequestDemand.conditions)
    func `RFC 9110 §13.1, §14.2: the conditions that go upstream are seen`(_ row: RequestDemand) throws {
        #expect(try self.demands(row.fields) == row.demands)
    }
}
