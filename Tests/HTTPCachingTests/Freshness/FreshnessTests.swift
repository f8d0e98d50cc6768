import HTTPCaching
import Testing
import TokenModel

/// Fields of a response, and a number of seconds that they lead to.
struct FreshnessCase: Sendable, CustomTestStringConvertible {
    let fields: [String]
    var status = "200 OK"
    var defaultTTL = 0
    var delay = 0
    /// How long after the head came.
    var after = 0
    let seconds: Int

    init(_ fields: String..., seconds: Int, with change: (inout FreshnessCase) -> Void = { _ in }) {
        self.fields = fields
        self.seconds = seconds
        change(&self)
    }

    var testDescription: String { "\(self.status): \(self.fields.joined(separator: " | "))" }

    func freshness() throws -> Freshness {
        let head = try Given.response(self.status, self.fields)
        let rules = CacheRules(defaultTTL: self.defaultTTL)
        return Freshness(of: head, ResponseDirectives(head), try Given.times(delay: self.delay), rules)
    }
}

extension FreshnessCase {
    /// RFC 9111 §4.2.1.
    static let lifetimes: [FreshnessCase] = [
        .init("Cache-Control: max-age=60", seconds: 60),
        .init("Cache-Control: max-age=0", seconds: 0),
        .init("Cache-Control: s-maxage=60", seconds: 0),
        .init("Cache-Control: max-age=60", "Expires: 0", seconds: 60),
        .init("Cache-Control: max-age=60", "Expires: \(Given.earlier)", seconds: 60),
        .init("Cache-Control: max-age=x", "Expires: \(Given.later)", seconds: 0),
        .init("Cache-Control: s-maxage=5", "Date: \(Given.date)", "Expires: \(Given.later)", seconds: 60),
        .init(seconds: 0),
    ]

    /// RFC 9111 §5.3.
    static let expires: [FreshnessCase] = [
        .init("Date: \(Given.date)", "Expires: \(Given.later)", seconds: 60),
        .init("Date: \(Given.date)", "Expires: \(Given.date)", seconds: 0),
        .init("Date: \(Given.date)", "Expires: \(Given.earlier)", seconds: 0),
        // The upstream's clock counts, not ours.
        .init("Date: \(Given.earlier)", "Expires: \(Given.later)", seconds: 120),
        .init("Expires: \(Given.later)", seconds: 60),
        .init("Date: x", "Expires: \(Given.later)", seconds: 60),
        .init("Date: \(Given.earlier)", "Date: \(Given.earlier)", "Expires: \(Given.later)", seconds: 60),
        .init("Expires: 0", seconds: 0),
        .init("Expires:", seconds: 0),
        .init("Expires: -1", seconds: 0),
        .init("Expires: 60", seconds: 0),
        .init("Expires: tomorrow", seconds: 0),
        .init("Expires: Thu, 26 Nov 2026 08:01:00 PST", seconds: 0),
        .init("Expires: Thursday, 26-Nov-26 08:01:00 GMT", seconds: 60),
        .init("Expires: Thu Nov 26 08:01:00 2026", seconds: 60),
        .init("Expires: \(Given.later)", "Expires: \(Given.earlier)", seconds: 0),
        .init("Expires: \(Given.later)", "Expires: x", seconds: 0),
        .init("Expires: Fri, 31 Dec 9999 23:59:59 GMT", seconds: 1 << 31),
    ]

    /// RFC 9111 §4.2.2: for a route with a default of 30 s.
    static let heuristics: [FreshnessCase] =
        [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].map { status in
            FreshnessCase(seconds: 30) {
                $0.status = "\(status) X"
                $0.defaultTTL = 30
            }
        }
        + [302, 303, 307, 403, 500, 503].map { status in
            FreshnessCase(seconds: 0) {
                $0.status = "\(status) X"
                $0.defaultTTL = 30
            }
        }
        + [
            FreshnessCase("Cache-Control: public", seconds: 30) {
                $0.status = "302 Found"
                $0.defaultTTL = 30
            },
            FreshnessCase("Cache-Control: max-age=x", seconds: 0) { $0.defaultTTL = 30 },
            FreshnessCase("Expires: x", seconds: 0) { $0.defaultTTL = 30 },
            FreshnessCase("Last-Modified: Thu, 26 Nov 2020 08:00:00 GMT", seconds: 0),
            FreshnessCase(seconds: 0) { $0.defaultTTL = -30 },
        ]

    /// RFC 9111 §4.2.3.
    static let ages: [FreshnessCase] = [
        .init(seconds: 0),
        .init(seconds: 7) { $0.after = 7 },
        .init("Date: \(Given.date)", seconds: 0),
        .init("Date: \(Given.earlier)", seconds: 60),
        .init("Date: \(Given.earlier)", seconds: 67) { $0.after = 7 },
        // The upstream's clock is ahead.
        .init("Date: \(Given.later)", seconds: 7) { $0.after = 7 },
        .init("Age: 10", seconds: 10),
        .init("Age: 10", seconds: 13) { $0.delay = 3 },
        .init("Age: 10", "Date: \(Given.earlier)", seconds: 60) { $0.delay = 3 },
        .init("Age: 100", "Date: \(Given.earlier)", seconds: 110) {
            $0.delay = 3
            $0.after = 7
        },
        .init(seconds: 3) { $0.delay = 3 },
        .init(seconds: 0) { $0.after = -5 },
        .init("Date: Thu, 01 Jan 1970 00:00:00 GMT", seconds: 1_795_680_000),
        .init("Date: Mon, 01 Jan 0001 00:00:00 GMT", seconds: 1 << 31),
    ]

    /// RFC 9111 §5.1.
    static let ageFields: [FreshnessCase] = [
        .init("Age: 0", seconds: 0),
        .init("age: 007", seconds: 7),
        .init("Age: 7, 100", seconds: 7),
        .init("Age: 7", "Age: 100", seconds: 7),
        .init("Age: x, 7", seconds: 0),
        .init("Age: -7", seconds: 0),
        .init("Age: 7.5", seconds: 0),
        .init("Age: \"7\"", seconds: 0),
        .init("Age:", seconds: 0),
        .init("Age: 2147483648", seconds: 1 << 31),
        .init("Age: 99999999999999999999", seconds: 1 << 31),
    ]
}

@Suite struct FreshnessTests {
    @Test(arguments: FreshnessCase.lifetimes)
    func `RFC 9111 §4.2.1: max-age decides, then Expires`(_ row: FreshnessCase) throws {
        #expect(try row.freshness().lifetime == row.seconds)
    }

    @Test(arguments: FreshnessCase.expires)
    func `RFC 9111 §5.3: Expires counts from Date, and a malformed one means the past`(_ row: FreshnessCase) throws {
        #expect(try row.freshness().lifetime == row.seconds)
    }

    @Test(arguments: FreshnessCase.heuristics)
    func `RFC 9111 §4.2.2: the route's default counts where the status allows it and nothing is said`(
        _ row: FreshnessCase
    ) throws {
        #expect(try row.freshness().lifetime == row.seconds)
    }

    @Test(arguments: FreshnessCase.ages)
    func `RFC 9111 §4.2.3: the age counts from the earliest of Date, Age and the exchange`(
        _ row: FreshnessCase
    ) throws {
        #expect(try row.freshness().age(at: Given.now(row.after)) == row.seconds)
    }

    @Test(arguments: FreshnessCase.ageFields)
    func `RFC 9111 §5.1: the first value of Age counts, if it is a number`(_ row: FreshnessCase) throws {
        #expect(try row.freshness().age(at: Given.now(0)) == row.seconds)
    }

    @Test func `RFC 9111 §4.2: a response is fresh while its age is below its lifetime`() throws {
        let freshness = try FreshnessCase("Cache-Control: max-age=60", "Age: 10", seconds: 0).freshness()
        #expect([0, 49, 50, 51].map { freshness.ttl(at: Given.now($0)) } == [50, 1, 0, -1])
    }

    @Test func `moments at both ends of time do not trap`() throws {
        let freshness = try FreshnessCase("Cache-Control: max-age=60", "Age: 99999999999", seconds: 0).freshness()
        #expect(freshness.age(at: .distantFuture) == 1 << 31)
        #expect(freshness.age(at: .distantPast) == 0)
        #expect(try FreshnessCase(seconds: 0).freshness().age(at: .distantPast) == 1 << 31)
    }
}
