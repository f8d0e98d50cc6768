package import NIOCore

/// Takes answer heads off a byte stream (RFC 9112 §4), as strictly as requests: what is wrong here is not passed on.
package struct ResponseHeadParser {
    private let limits: HeadLimits
    private var scanner = HeadScanner()

    package init(limits: HeadLimits = .response) {
        self.limits = limits
    }

    /// Takes one head from the front of `buffer`, or returns `nil` while it is not whole.
    ///
    /// - Parameter method: of the request it answers: an answer to HEAD has no body, whatever its fields say.
    package mutating func next(
        _ buffer: inout ByteBuffer,
        answering method: HTTPMethod
    ) throws(WireError) -> ResponseHead? {
        guard buffer.readableBytes > 0 else { return nil }
        guard let end = try self.scanner.end(in: buffer.readableBytesUInt8Span, limit: self.limits.head) else {
            guard buffer.readableBytes < self.limits.head else { throw .bad("the answer's head is too large") }
            return nil
        }
        self.scanner = HeadScanner()
        guard let bytes = buffer.readSlice(length: end) else { return nil }
        return try self.parse(bytes, answering: method)
    }

    private func parse(_ buffer: ByteBuffer, answering method: HTTPMethod) throws(WireError) -> ResponseHead {
        let bytes = buffer.readableBytesUInt8Span
        var lineEnd = 0
        while bytes[lineEnd] != .carriageReturn {
            guard bytes[lineEnd].isFieldValue else { throw .bad("a control character in the status line") }
            lineEnd += 1
        }
        guard bytes[lineEnd + 1] == .lineFeed, lineEnd >= 12, bytes[8] == .space else {
            throw .bad("no status line where it belongs")
        }
        let minorVersion = try HTTPVersion.minor(ByteRange(0, 8), in: bytes)
        guard bytes[9].isDigit, bytes[10].isDigit, bytes[11].isDigit, lineEnd == 12 || bytes[12] == .space else {
            throw .bad("a status that is not three digits")
        }
        let status = Int(bytes[9] & 0x0F) * 100 + Int(bytes[10] & 0x0F) * 10 + Int(bytes[11] & 0x0F)
        guard status >= 100, status < 600 else { throw .bad("a status out of range") }

        let section = FieldSection(limits: self.limits, refusesUnderscores: false)
        var fields = try section.read(bytes, from: lineEnd + 2, to: bytes.count)
        let connection = try ConnectionOptions(&fields, in: bytes)
        let declared = try BodyFraming.declared(by: &fields, in: bytes, minorVersion: minorVersion)
        let hasBody = status >= 200 && status != 204 && status != 304 && method != .head
        let body: BodyFraming = hasBody ? declared ?? .untilClose : .none
        var describedLength: Int?
        if !hasBody, status == 304 || (method == .head && status >= 200 && status != 204),
            case .length(let length) = declared
        {
            describedLength = length
        }
        return ResponseHead(
            bytes: buffer,
            status: status,
            statusLine: ByteRange(9, lineEnd + 2),
            fields: fields,
            body: body,
            describedLength: describedLength,
            keepsAlive: body != .untilClose && !connection.close && (minorVersion == 1 || connection.keepAlive)
        )
    }
}
