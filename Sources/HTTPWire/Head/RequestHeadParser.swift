package import NIOCore

/// Takes request heads off a byte stream (RFC 9112 §2–3), each judged whole before anything is done about it.
///
/// One per connection. Memory is bounded by the limits; each byte is looked at a fixed number of times, however small the
/// pieces it comes in.
package struct RequestHeadParser {
    private let limits: HeadLimits
    private var scanner = HeadScanner()

    package init(limits: HeadLimits = .request) {
        self.limits = limits
    }

    /// Whether part of a head has come.
    package var hasBegun: Bool { self.scanner.scanned > 0 }

    /// Takes one head from the front of `buffer`, or returns `nil` while it is not whole.
    ///
    /// - Throws: what is wrong, as soon as it can be told; the connection must close then.
    package mutating func next(_ buffer: inout ByteBuffer) throws(WireError) -> RequestHead? {
        if !self.hasBegun { Self.skipEmptyLine(&buffer) }
        guard buffer.readableBytes > 0 else { return nil }
        guard let end = try self.scanner.end(in: buffer.readableBytesUInt8Span, limit: self.limits.head) else {
            try self.judgeIncomplete(buffer)
            return nil
        }
        self.scanner = HeadScanner()
        guard let bytes = buffer.readSlice(length: end) else { return nil }
        return try self.parse(bytes)
    }

    /// One empty line before a request is forgiven (RFC 9112 §2.2).
    private static func skipEmptyLine(_ buffer: inout ByteBuffer) {
        if buffer.getInteger(at: buffer.readerIndex, as: UInt16.self) == 0x0D0A {
            buffer.moveReaderIndex(forwardBy: 2)
        }
    }

    /// Says early what no further byte can mend.
    private func judgeIncomplete(_ buffer: ByteBuffer) throws(WireError) {
        let bytes = buffer.readableBytesUInt8Span
        if let end = self.scanner.firstLineEnd {
            _ = try self.requestLine(bytes, lineEnd: end - 2)
        } else if bytes.count > self.limits.target + 64 {
            throw WireError(.targetTooLong, "the request line does not end")
        }
        if bytes.count >= self.limits.head { throw WireError(.headTooLarge, "the head is too large") }
    }

    private struct RequestLine {
        var method: HTTPMethod
        var methodName: ByteRange
        var target: ByteRange
        var minorVersion: UInt8
    }

    private func requestLine(_ bytes: Span<UInt8>, lineEnd: Int) throws(WireError) -> RequestLine {
        var position = 0
        while position < lineEnd, bytes[position].isToken { position += 1 }
        guard position > 0, position < lineEnd, bytes[position] == .space else {
            throw .bad("the request line does not begin with a method and one space")
        }
        let methodName = ByteRange(0, position)
        let targetStart = position + 1
        position = targetStart
        while position < lineEnd, bytes[position].isVisible, bytes[position] != 0x23 { position += 1 }
        let target = ByteRange(targetStart, position)
        guard target.count <= self.limits.target else { throw WireError(.targetTooLong, "the target is too long") }
        guard !target.isEmpty, position < lineEnd, bytes[position] == .space else {
            throw .bad("the target is empty, holds a character that no target has, or is not followed by a version")
        }
        let minorVersion = try HTTPVersion.minor(ByteRange(position + 1, lineEnd), in: bytes)
        let method = try HTTPMethod(methodName, in: bytes)
        return RequestLine(method: method, methodName: methodName, target: target, minorVersion: minorVersion)
    }

    private func parse(_ buffer: ByteBuffer) throws(WireError) -> RequestHead {
        let bytes = buffer.readableBytesUInt8Span
        var lineEnd = 0
        while bytes[lineEnd] != .carriageReturn { lineEnd += 1 }
        guard bytes[lineEnd + 1] == .lineFeed else { throw .bad("a bare CR in the request line") }

        let line = try self.requestLine(bytes, lineEnd: lineEnd)
        let target = try RequestTarget(line.target, method: line.method, in: bytes)
        let section = FieldSection(limits: self.limits, refusesUnderscores: true)
        var fields = try section.read(bytes, from: lineEnd + 2, to: bytes.count)
        let connection = try ConnectionOptions(&fields, in: bytes)
        let body = try BodyFraming.declared(by: &fields, in: bytes, minorVersion: line.minorVersion) ?? .none
        let meaning = try RequestFields(&fields, in: bytes, target: target, minorVersion: line.minorVersion)
        return RequestHead(
            bytes: buffer,
            method: line.method,
            methodName: line.methodName,
            target: target,
            minorVersion: line.minorVersion,
            fields: fields,
            body: body,
            host: meaning.host,
            keepsAlive: !connection.close && (line.minorVersion == 1 || connection.keepAlive),
            expectsContinue: meaning.expectsContinue && line.minorVersion == 1
        )
    }
}
