package import HTTPWire
import NIOCore

/// The head with which a stored response is sent. `Age` and `Cache-Status` come on top (``CacheStatus/lines(age:)``).
package enum ServedHead {
    /// - Parameter method: of the request: HEAD gets the length, and no body.
    /// - Returns: `nil` if the head can't be written; the whole response can be sent then.
    package static func make(_ part: ServedPart, of stored: StoredResponse, answering method: HTTPMethod)
        -> ResponseHead?
    {
        switch part {
        case .whole: method.isHEAD ? Self.headOnly(stored.head) : stored.head
        case .notModified: Self.notModified(stored.head)
        case .range(let range): Self.partial(range, of: stored)
        case .unsatisfiable: Self.unsatisfiable(stored.body.count)
        }
    }

    private static func headOnly(_ head: ResponseHead) -> ResponseHead? {
        var bytes = head.bytes
        var parser = ResponseHeadParser(limits: HeadLines.limits)
        return try? parser.next(&bytes, answering: .head)
    }

    /// The fields that a 304 must have (RFC 9110 §15.4.5). Others would only be repeated.
    private static func notModified(_ head: ResponseHead) -> ResponseHead? {
        let bytes = head.bytes.readableBytesUInt8Span
        let hasTag = !head.fields.values(of: "etag", in: bytes).isEmpty
        var lines = HeadLines(status: "304 Not Modified\r\n".utf8, capacity: 512)
        for field in head.fields where !field.isStripped {
            let isSent =
                switch field.known {
                case .date, .contentLocation: true
                case .other:
                    bytes.matches(field.name, "cache-control") || bytes.matches(field.name, "etag")
                        || bytes.matches(field.name, "expires") || bytes.matches(field.name, "vary")
                        || !hasTag && bytes.matches(field.name, "last-modified")
                default: false
                }
            if isSent { lines.add(field, of: head) }
        }
        return lines.head()
    }

    private static func partial(_ range: Range<Int>, of stored: StoredResponse) -> ResponseHead? {
        var lines = HeadLines(status: "206 Partial Content\r\n".utf8, capacity: stored.head.bytes.readableBytes + 96)
        let head = stored.head
        let bytes = head.bytes.readableBytesUInt8Span
        for field in head.fields where !field.isStripped && !bytes.matches(field.name, "content-range") {
            lines.add(field, of: head)
        }
        let total = stored.body.count
        lines.add("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)".utf8)
        lines.add("Content-Length", String(range.count).utf8)
        return lines.head()
    }

    private static func unsatisfiable(_ count: Int) -> ResponseHead? {
        var lines = HeadLines(status: "416 Range Not Satisfiable\r\n".utf8, capacity: 96)
        lines.add("Content-Range", "bytes */\(count)".utf8)
        lines.add("Content-Length", "0".utf8)
        return lines.head()
    }
}

extension HTTPMethod {
    fileprivate var isHEAD: Bool { if case .head = self { true } else { false } }
}
