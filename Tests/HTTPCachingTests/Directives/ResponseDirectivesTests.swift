import HTTPCaching
import Testing

/// `Cache-Control` of a response, and what it allows.
struct ResponseAllowance: Sendable, CustomTestStringConvertible {
    let lines: [String]
    let allows: String

    init(_ lines: String..., reads allows: String) {
        self.lines = lines
        self.allows = allows
    }

    var testDescription: String { self.lines.joined(separator: " | ") }
}

extension ResponseAllowance {
    /// RFC 9111 §5.2.2.
    static let cacheControl: [ResponseAllowance] = [
        .init(reads: ""),
        .init("no-store", reads: "no-store"),
        .init("NO-STORE=x", reads: "no-store"),
        .init("no-cache", reads: "no-cache"),
        .init("no-cache=\"Set-Cookie, X\", max-age=5", reads: "no-cache max-age=5"),
        .init("must-revalidate", reads: "must-revalidate"),
        .init("must-understand, no-store", reads: "no-store must-understand"),
        .init("private", reads: "cacheable"),
        .init("private=\"X-Y\"", reads: "cacheable"),
        .init("public", reads: "cacheable"),
        .init("proxy-revalidate, s-maxage=60, no-transform, immutable", reads: ""),
        .init("max-age=60", reads: "max-age=60"),
        .init("Max-Age=60", reads: "max-age=60"),
        .init("max-age=60", "no-store", reads: "no-store max-age=60"),
    ]

    /// RFC 9111 §4.2.1: values that are malformed or contradict each other.
    static let doubtful: [ResponseAllowance] = [
        .init("max-age=\"60\"", reads: "max-age=60"),
        .init("max-age='60'", reads: "max-age=0"),
        .init("max-age=60, max-age=0", reads: "max-age=0"),
        .init("max-age=60", "max-age=30", reads: "max-age=30"),
        .init("max-age=30", "max-age=60", reads: "max-age=30"),
        .init("max-age=60, max-age=x", reads: "max-age=0"),
        .init("max-age", reads: "max-age=0"),
        .init("max-age=", reads: "max-age=0"),
        .init("max-age=\"\"", reads: "max-age=0"),
        .init("max-age=\"", reads: "max-age=0"),
        .init("max-age=-60", reads: "max-age=0"),
        .init("max-age=+60", reads: "max-age=0"),
        .init("max-age=60.5", reads: "max-age=0"),
        .init("max-age=60 s", reads: "max-age=0"),
        .init("max-age =60", reads: "max-age=0"),
        .init("max-age= 60", reads: "max-age=0"),
        .init("max-age=4294967296", reads: "max-age=2147483648"),
        .init("max-age=18446744073709551617", reads: "max-age=2147483648"),
        .init("xmax-age=60, max-ages=60", reads: ""),
        .init("x=\"max-age=60, no-store\"", reads: ""),
        .init("x=\"a, no-store, max-age=60", reads: "no-store max-age=60"),
        .init("max-age=60; no-store", reads: "max-age=0"),
    ]

    /// RFC 5861 §3 and §4.
    static let stale: [ResponseAllowance] = [
        .init("max-age=1, stale-while-revalidate=30", reads: "max-age=1 while=30"),
        .init("stale-while-revalidate=30, stale-while-revalidate=20", reads: "while=20"),
        .init("stale-while-revalidate", reads: "while=0"),
        .init("stale-if-error=60", reads: "error=60"),
        .init("stale-if-error=60, stale-if-error=x", reads: "error=0"),
    ]
}

@Suite struct ResponseDirectivesTests {
    private func allows(_ lines: [String]) throws -> String {
        let read = ResponseDirectives(try Given.response("200 OK", lines.map { "Cache-Control: \($0)" }))
        let words: [(Bool, String)] = [
            (read.noStore, "no-store"), (read.noCache, "no-cache"), (read.mustRevalidate, "must-revalidate"),
            (read.mustUnderstand, "must-understand"), (read.isMarkedCacheable, "cacheable"),
        ]
        let numbers = [
            ("max-age", read.maxAge), ("while", read.staleWhileRevalidate), ("error", read.staleIfError),
        ]
        return
            (words.filter(\.0).map(\.1) + numbers.compactMap { name, number in number.map { "\(name)=\($0)" } })
            .joined(separator: " ")
    }

    @Test(arguments: ResponseAllowance.cacheControl)
    func `RFC 9111 §5.2.2: a response's Cache-Control is read as by a private cache`(_ row: ResponseAllowance) throws {
        #expect(try self.allows(row.lines) == row.allows)
    }

    @Test(arguments: ResponseAllowance.doubtful)
    func `RFC 9111 §4.2.1: of doubtful values the strictest counts`(_ row: ResponseAllowance) throws {
        #expect(try self.allows(row.lines) == row.allows)
    }

    @Test(arguments: ResponseAllowance.stale)
    func `RFC 5861 §3, §4: the times for stale responses are read`(_ row: ResponseAllowance) throws {
        #expect(try self.allows(row.lines) == row.allows)
    }
}
