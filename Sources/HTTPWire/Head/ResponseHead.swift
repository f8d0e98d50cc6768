package import NIOCore

/// An answer's head: its bytes and where everything stands in them. Made only by ``ResponseHeadParser``.
package struct ResponseHead: Sendable {
    /// The whole head with its final empty line; ranges count from its reader index.
    package let bytes: ByteBuffer
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    package let minorVersion: UInt8
    /// 100 to 999.
    package let status: Int
    /// From behind `HTTP/1.x ` to the end of the line with its CRLF: code and reason.
    package let statusLine: ByteRange
    /// All fields in order, also those that don't go on.
    package let fields: [Field]
    /// How the body that follows ends; ``BodyFraming/none`` for an answer to HEAD, 1xx, 204 and 304.
    package let body: BodyFraming
    /// What `Content-Length` says of an answer that has no body here (HEAD, 304): it passes.
    package let describedLength: Int?
    /// The connection serves another request after this one.
    package let keepsAlive: Bool
    /// A 101 that goes over to WebSocket: what follows is HTTP no more.
    package let switchesToWebSocket: Bool

    /// 1xx: another head follows.
    package var isInterim: Bool { self.status < 200 }
}

extension ResponseHead {
    /// There is a `Set-Cookie`.
    package var setsCookies: Bool {
        self.fields.contains { if case .setCookie = $0.known { true } else { false } }
    }
}

extension ResponseHead {
    /// The body is `application/json`, whatever its parameters, and not compressed.
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
    /// §19.7.1); the least where it says so more than once, `nil` where it does not.
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
            // A day is as good as for ever.
            seconds = min(seconds * 10 + Int(bytes[position] & 0x0F), 86_400)
        }
        return seconds
    }
}

/// Takes answer heads off a byte stream (RFC 9112 §4), as strictly as requests: what is wrong here is not passed on.
package struct ResponseHeadParser {
    private let limits: HeadLimits
    private var assembly = HeadAssembly<StatusLine>()
    private var spare = SpareFields()

    /// - Parameter limits: of each head; the one for targets means nothing here.
    package init(limits: HeadLimits = .response) {
        self.limits = limits
    }

    /// Takes one head from the front of `buffer`, or returns `nil` while it is not whole.
    ///
    /// - Parameter method: of the request it answers: an answer to HEAD has no body, whatever its fields say.
    /// - Throws: what is wrong, as soon as it can be told; the connection must be thrown away then.
    package mutating func next(
        _ buffer: inout ByteBuffer,
        answering method: HTTPMethod
    ) throws(WireError) -> ResponseHead? {
        let head = try self.assembly.take(&buffer, limit: self.limits.head) { bytes, scanner throws(WireError) in
            // What speaks no HTTP is not listened to for longer.
            guard let end = scanner.firstLineEnd else { return nil }
            return try Self.statusLine(bytes, end: end)
        }
        guard let head else { return nil }
        return try self.parse(head.bytes, head.line, answering: method)
    }

    private struct StatusLine {
        var minorVersion: UInt8
        var status: Int
        /// Behind its CRLF.
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
        // From 600 on no status means anything (RFC 9110 §15), but some servers have their own: it is the caller's to read.
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
        // What says that it has a body where there is none may send one: it would be the next request's answer.
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
