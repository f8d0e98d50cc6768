package import HTTPWire
import NIOCore

/// What a caller gets of a stored response: a head, and a range of the stored body. `Age` and `Cache-Status` come on
/// top (``CacheStatus/lines(age:)``).
package struct ServedResponse: Sendable {
    /// Its bytes may be those of the stored head, which this holds.
    package let head: ResponseHead
    /// Which bytes of the stored body follow; none for HEAD, 304 and 416.
    package let body: Range<Int>
    private let stored: StoredResponse

    /// - Parameter directives: of `request`.
    package init(_ stored: StoredResponse, to request: RequestHead, _ directives: RequestDirectives) {
        let part = ServedPart(request, directives, stored)
        let whole = 0..<stored.body.count
        self.stored = stored
        if case .whole = part, case .get = request.method {
            self.head = stored.head
            self.body = whole
        } else if let head = stored.head(for: part) {
            self.head = head
            if case .range(let range) = part { self.body = range } else { self.body = 0..<0 }
        } else {
            assertionFailure("a head that was stored can be written again")
            self.head = stored.head
            self.body = whole
        }
    }
}

extension StoredResponse {
    /// The head that announces `part`. The whole response has another head for HEAD, which has the length and no body.
    fileprivate func head(for part: ServedPart) -> ResponseHead? {
        switch part {
        case .whole: self.headOnly
        case .notModified: self.notModified
        case .range(let range): self.partial(range)
        case .unsatisfiable: self.unsatisfiable
        }
    }

    private var headOnly: ResponseHead? {
        var bytes = self.head.bytes
        var parser = ResponseHeadParser(limits: HeadLines.limits)
        return try? parser.next(&bytes, answering: .head)
    }

    /// The fields that a 304 must have (RFC 9110 §15.4.5). Others would only be repeated.
    private var notModified: ResponseHead? {
        let head = self.head
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

    private func partial(_ range: Range<Int>) -> ResponseHead? {
        let head = self.head
        let bytes = head.bytes.readableBytesUInt8Span
        var lines = HeadLines(status: "206 Partial Content\r\n".utf8, capacity: bytes.count + 96)
        for field in head.fields where !field.isStripped && !bytes.matches(field.name, "content-range") {
            lines.add(field, of: head)
        }
        lines.add("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(self.body.count)".utf8)
        lines.add("Content-Length", String(range.count).utf8)
        return lines.head()
    }

    private var unsatisfiable: ResponseHead? {
        var lines = HeadLines(status: "416 Range Not Satisfiable\r\n".utf8, capacity: 96)
        lines.add("Content-Range", "bytes */\(self.body.count)".utf8)
        lines.add("Content-Length", "0".utf8)
        return lines.head()
    }
}
