package import NIOCore

/// A response's head: its bytes and where everything stands in them. Made only by ``ResponseHeadParser``.
package struct ResponseHead: Sendable {
    /// The whole head with its final empty line; ranges count from its reader index.
    package let bytes: ByteBuffer
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    package let minorVersion: UInt8
    /// 100 to 999.
    package let status: Int
    /// Code and reason: from behind `HTTP/1.x ` to the end of the line with its CRLF.
    package let statusLine: ByteRange
    /// All fields in order, including those that are not forwarded.
    package let fields: [Field]
    /// How the body that follows ends; ``BodyFraming/none`` for a response to HEAD, 1xx, 204 and 304.
    package let body: BodyFraming
    /// `Content-Length` of a response that has no body here (HEAD, 304); it is forwarded.
    package let describedLength: Int?
    /// Whether the connection serves another request after this one.
    package let keepsAlive: Bool
    /// A 101 that switches to WebSocket: the bytes that follow are not HTTP.
    package let switchesToWebSocket: Bool

    /// 1xx: another head follows.
    package var isInterim: Bool { self.status < 200 }
}

extension ResponseHead {
    /// The head without the fields that are not forwarded, in memory of its own: it keeps nothing of a connection's
    /// buffer alive.
    package func detached() -> ResponseHead {
        var bytes = ByteBuffer()
        bytes.writeImmutableBuffer(self.bytes)
        return ResponseHead(
            bytes: bytes,
            minorVersion: self.minorVersion,
            status: self.status,
            statusLine: self.statusLine,
            fields: self.fields.contains(where: \.isStripped) ? self.fields.filter { !$0.isStripped } : self.fields,
            body: self.body,
            describedLength: self.describedLength,
            keepsAlive: self.keepsAlive,
            switchesToWebSocket: self.switchesToWebSocket
        )
    }

    /// Whether there is a `Date`.
    package var hasDate: Bool { self.fields.contains { if case .date = $0.known { true } else { false } } }

    /// Whether there is a `Set-Cookie`.
    package var setsCookies: Bool {
        self.fields.contains { if case .setCookie = $0.known { true } else { false } }
    }
}

extension ResponseHead {
    /// Whether the body is `application/json`, with any parameters, and not compressed.
    package var isPlainJSON: Bool {
        let bytes = self.bytes.readableBytesUInt8Span
        var types = 0
        var isJSON = false
        for field in self.fields {
            switch field.known {
            case .contentType:
                types += 1
                var end = field.value.lower
                while end < field.value.upper, bytes[end] != .semicolon { end += 1 }
                isJSON = bytes.matches(bytes.trimmed(ByteRange(field.value.lower, end)), "application/json")
            case .contentEncoding:
                guard bytes.matches(field.value, "identity") else { return false }
            default: break
            }
        }
        return types == 1 && isJSON
    }
}

extension ResponseHead {
    /// How long the upstream keeps the connection without a request, in seconds: `Keep-Alive: timeout=N` (RFC 2068
    /// §19.7.1). The least of several values; `nil` if there is none.
    package var keepAliveTimeout: Int? {
        var least: Int?
        for field in self.fields where field.known == .keepAlive {
            let bytes = self.bytes.readableBytesUInt8Span
            var members = ListMembers(of: field.value)
            while let member = members.next(in: bytes) {
                guard let seconds = Self.timeout(member, in: bytes) else { continue }
                least = min(least ?? seconds, seconds)
            }
        }
        return least
    }

    private static func timeout(_ member: ByteRange, in bytes: Span<UInt8>) -> Int? {
        var equals = member.lower
        while equals < member.upper, bytes[equals] != .equals { equals += 1 }
        guard equals < member.upper, bytes.matches(bytes.trimmed(ByteRange(member.lower, equals)), "timeout") else {
            return nil
        }
        let digits = bytes.trimmed(ByteRange(equals + 1, member.upper))
        guard !digits.isEmpty else { return nil }
        var seconds = 0
        for position in digits.lower..<digits.upper {
            guard bytes[position].isDigit else { return nil }
            // A day is as good as forever.
            seconds = min(seconds * 10 + Int(bytes[position] & 0x0F), 86_400)
        }
        return seconds
    }
}

/// Takes response heads from a byte stream (RFC 9112 §4), as strictly as requests: a malformed head is not forwarded.
package struct ResponseHeadParser {
    private let limits: HeadLimits
    private var assembly = HeadAssembly<StatusLine>()
    private var spare = SpareFields()

    /// - Parameter limits: of each head; the limit for targets means nothing here.
    package init(limits: HeadLimits = .response) {
        self.limits = limits
    }

    /// Takes one head from the front of `buffer`, or returns `nil` while the head is incomplete.
    ///
    /// - Parameter method: of the request: a response to HEAD has no body, whatever its fields say.
    /// - Throws: what is wrong, as soon as that is certain; the connection must be discarded then.
    package mutating func next(
        _ buffer: inout ByteBuffer,
        answering method: HTTPMethod
    ) throws(WireError) -> ResponseHead? {
        let head = try self.assembly.take(&buffer, limit: self.limits.head) { bytes, scanner throws(WireError) in
            // A peer that speaks no HTTP is refused at its first line.
            guard let end = scanner.firstLineEnd else { return nil }
            return try Self.statusLine(bytes, end: end)
        }
        guard let head else { return nil }
        return try self.parse(head.bytes, head.line, answering: method)
    }

    private struct StatusLine {
        var minorVersion: UInt8
        var status: Int
        /// Offset behind its CRLF.
        var end: Int
    }

    private static func statusLine(_ bytes: Span<UInt8>, end: Int) throws(WireError) -> StatusLine {
        let lineEnd = end - 2
        for position in 0..<lineEnd where !bytes[position].isFieldValue {
            throw WireError(.statusLineControl)
        }
        guard lineEnd >= 12, bytes[8] == .space else { throw WireError(.notHTTP) }
        let minorVersion = try Self.version(in: bytes)
        guard bytes[9].isDigit, bytes[10].isDigit, bytes[11].isDigit, lineEnd == 12 || bytes[12] == .space else {
            throw WireError(.statusCode)
        }
        let status = Int(bytes[9] & 0x0F) * 100 + Int(bytes[10] & 0x0F) * 10 + Int(bytes[11] & 0x0F)
        // A status from 600 on means nothing (RFC 9110 §15), but some servers have their own: the caller may interpret
        // it.
        guard status >= 100 else { throw WireError(.statusCode) }
        return StatusLine(minorVersion: minorVersion, status: status, end: end)
    }

    private static func version(in bytes: Span<UInt8>) throws(WireError) -> UInt8 {
        do throws(WireError) {
            return try HTTPVersion.minor(ByteRange(0, 8), in: bytes)
        } catch {
            throw error.rule == nil ? WireError(.notHTTP) : error
        }
    }

    private mutating func parse(
        _ buffer: ByteBuffer,
        _ line: StatusLine,
        answering method: HTTPMethod
    ) throws(WireError) -> ResponseHead {
        let bytes = buffer.readableBytesUInt8Span
        let status = line.status
        let section = FieldSection(limits: self.limits, refusesLookalikes: false)
        var fields = self.spare.take()
        try section.read(bytes, from: line.end, to: bytes.count, into: &fields)
        let connection = try ConnectionOptions(&fields, in: bytes, isRequest: false)
        let declared = try BodyFraming.declared(
            by: &fields,
            in: bytes,
            minorVersion: line.minorVersion,
            mergesEqualLengths: true
        )
        self.spare.keep(fields)
        let hasBody = status >= 200 && status != 204 && status != 304 && method != .head
        let body: BodyFraming = hasBody ? declared ?? .untilClose : .none
        var describedLength: Int?
        if !hasBody, status == 304 || (method == .head && status >= 200 && status != 204),
            case .length(let length) = declared
        {
            describedLength = length
        }
        // A response that declares a body where there is none may send one, and that would be taken for the next
        // response.
        let mayHaveMore = status == 204 && declared != nil && declared != .length(0)
        return ResponseHead(
            bytes: buffer,
            minorVersion: line.minorVersion,
            status: status,
            statusLine: ByteRange(9, line.end),
            fields: fields,
            body: body,
            describedLength: describedLength,
            keepsAlive: body != .untilClose && !connection.close && !mayHaveMore
                && (line.minorVersion == 1 || connection.keepAlive),
            switchesToWebSocket: status == 101 && line.minorVersion == 1 && connection.upgrade
                && WebSocketUpgrade.isTaken(by: fields, in: bytes)
        )
    }
}
