import Properties
import TestKit
import Testing

/// Hundreds of requests and responses, made of words that mean something to caches. `scripts/fuzz` tries millions.
@Suite struct CachingPropertyTests {
    private static let directives = [
        "no-cache", "no-store", "max-age=0", "max-age=60", "max-age=3600", "max-age", "max-age=x", "max-age=\"60\"",
        "max-age=99999999999999999999", "max-stale", "max-stale=30", "max-stale=x", "min-fresh=30", "min-fresh=-1",
        "only-if-cached", "must-revalidate", "must-understand", "private", "public", "private=\"X\"", "no-cache=\"X\"",
        "s-maxage=5", "proxy-revalidate", "stale-while-revalidate=30", "stale-while-revalidate=9999", "stale-if-error",
        "stale-if-error=30", "stale-if-error=9999", "x=\"no-store", "y=\"a, b\"", "", "=", "\"", "max-age=60;no-store",
    ]
    private static let dates = [
        "Thu, 26 Nov 2026 08:00:00 GMT", "Thu, 26 Nov 2026 07:59:00 GMT", "Thu, 26 Nov 2026 08:01:00 GMT",
        "Thu, 26 Nov 2026 09:00:00 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "0", "", "-1", "tomorrow",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ]
    private static let tags = ["\"a\"", "W/\"a\"", "\"b\"", "\"a,b\"", "a", "\"", "W/", "\"a\", \"b\"", "*", ""]
    private static let ranges = [
        "bytes=0-1", "bytes=2-", "bytes=-3", "bytes=9-99", "bytes=10-", "bytes=-0", "bytes=0-1,3-4", "bytes=5-2",
        "x=1-2",
        "bytes=99999999999999999999-", "bytes=-", "bytes=",
    ]
    private static let statuses = [
        "200 OK", "200 OK", "200 OK", "200", "203 X", "204 No Content", "206 X", "301 Moved", "302 Found",
        "404 Not Found",
        "500 X", "599 X", "700 X",
    ]
    private static let delays: [UInt8] = [0, 1, 2, 3, 4, 5, 6, 7, 8]

    /// Draws from the words above.
    private struct Writer {
        var numbers: SeededGenerator

        private mutating func pick<Word>(_ words: [Word]) -> Word {
            words[Int.random(in: 0..<words.count, using: &self.numbers)]
        }

        /// Whether something that is true one time in `count` is.
        private mutating func happens(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &self.numbers) == 0 }

        private mutating func cacheControl() -> [String] {
            (0..<Int.random(in: 0...2, using: &self.numbers)).map { _ in
                let members = (0..<Int.random(in: 1...3, using: &self.numbers)).map { _ in self.pick(directives) }
                return "Cache-Control: \(members.joined(separator: ", "))"
            }
        }

        private mutating func request() -> [String] {
            var lines = ["\(self.pick(["GET", "GET", "GET", "HEAD", "POST"])) /a HTTP/1.1", "Host: a"]
            lines += self.cacheControl()
            if self.happens(8) { lines.append("Pragma: no-cache") }
            if self.happens(4) { lines.append("If-None-Match: \(self.pick(tags))") }
            if self.happens(4) { lines.append("If-Modified-Since: \(self.pick(dates))") }
            if self.happens(2) { lines.append("Range: \(self.pick(ranges))") }
            if self.happens(8) { lines.append("If-Range: \(self.pick(tags + dates))") }
            if self.happens(3) { lines.append("A: \(self.pick(["1", "2", ""]))") }
            if self.happens(16) { lines.append("Connection: \(self.pick(["A", "Range", "Cache-Control"]))") }
            return lines
        }

        private mutating func response(_ status: String) -> [String] {
            var lines = ["HTTP/1.1 \(status)"] + self.cacheControl()
            if self.happens(2) { lines.append("ETag: \(self.pick(tags))") }
            if self.happens(3) { lines.append("Last-Modified: \(self.pick(dates))") }
            if self.happens(3) { lines.append("Date: \(self.pick(dates))") }
            if self.happens(3) { lines.append("Expires: \(self.pick(dates))") }
            if self.happens(4) { lines.append("Age: \(self.pick(["0", "30", "x", "99999999999999", "5, 6"]))") }
            if self.happens(3) {
                lines.append("Vary: \(self.pick(["A", "*", "A, B", "X-Key", "X-Forwarded-For", ""]))")
            }
            if self.happens(3) { lines.append("Content-Length: \(self.pick(["0", "1", "10", "1000"]))") }
            if self.happens(3) { lines.append("A: \(self.pick(["1", "2", "3"]))") }
            if self.happens(8) { lines.append("Content-Encoding: gzip") }
            if self.happens(8) { lines.append("Set-Cookie: a=b") }
            if self.happens(16) { lines.append("Connection: \(self.pick(["A", "Vary", "close"]))") }
            return lines
        }

        mutating func scene() -> [UInt8] {
            var lines = self.request() + [""] + self.response(self.pick(statuses)) + [""]
            if self.happens(2) { lines += self.response("304 Not Modified") + [""] }
            return [self.pick(delays)] + Array((lines.joined(separator: "\r\n") + "\r\n").utf8)
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `nothing is served past its freshness without leave, and nothing outside its body`(seed: UInt64) {
        var writer = Writer(numbers: SeededGenerator(seed: seed))
        for round in 0..<200 {
            let scene = writer.scene()
            do { try Property.caching.hold(for: scene) } catch {
                Issue.record("seed \(seed), round \(round): \(error): \(String(decoding: scene, as: UTF8.self))")
                return
            }
        }
    }
}
