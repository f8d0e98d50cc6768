package import NIOCore

/// What a route changes of each request head, prepared once: it holds no secret. An object, since each request takes hold of
/// it, and its parts are many.
package final class UpstreamRequest: Sendable {
    /// The upstream's path, beginning and ending with `/`.
    private let path: ByteBuffer
    /// The `Host` line with its CRLF.
    private let host: ByteBuffer
    /// The route adds `Via`.
    private let via: Bool
    /// Name of the injected field in lower case, where it is not `authorization`, which never passes anyway.
    private let injectedName: [UInt8]?
    /// The same with `-` for each `_`, where it has any: an upstream may take the one for the other.
    private let injectedTwin: [UInt8]?
    /// Answers are looked at: they must not come compressed.
    private let asksForIdentity: Bool

    /// - Parameters:
    ///   - path: of the upstream, beginning and ending with `/`.
    ///   - host: of the upstream, with its port where that is not the scheme's.
    ///   - via: adds `Via: 1.1 martlet` (RFC 9110 §7.6.3).
    ///   - injectedName: the name of the field that will carry the token.
    ///   - asksForIdentity: puts `Accept-Encoding: identity` in place of the caller's (RFC 9110 §12.5.3).
    package init(path: String, host: String, via: Bool, injectedName: String, asksForIdentity: Bool = false) {
        self.path = ByteBuffer(string: path)
        self.host = ByteBuffer(string: "Host: \(host)\r\n")
        self.via = via
        let name = Array(injectedName.lowercased().utf8)
        self.asksForIdentity = asksForIdentity
        self.injectedName = name == Array("authorization".utf8) ? nil : name
        let twin = name.map { $0 == .underscore ? UInt8(ascii: "-") : $0 }
        self.injectedTwin = twin == name ? nil : twin
    }

    /// The head that goes upstream, complete but for what the caller of this adds: the injected line and the empty line.
    ///
    /// Lines that pass are copied as they stand, in runs.
    /// - Parameters:
    ///   - prefix: how many bytes of the request's path the upstream's path replaces; 0 keeps the path, and the
    ///     upstream's stands in front of it (`strip: false`).
    ///   - framing: of the body as it will be sent; a request has none that ends with the connection.
    ///   - expects: adds `Expect: 100-continue` (RFC 9110 §10.1.1).
    ///   - spare: room to leave for the injected line, in bytes.
    ///   - buffer: whose memory to use, where nobody else holds it; what it holds is lost.
    package func head(
        for request: RequestHead,
        replacing prefix: Int,
        framing: BodyFraming,
        expects: Bool = false,
        spare: Int,
        reusing buffer: consuming ByteBuffer = ByteBuffer()
    ) -> ByteBuffer {
        assert(framing != .untilClose, "a request has no body that ends with the connection")
        let source = request.bytes
        var head = buffer
        head.clear(
            minimumCapacity: source.readableBytes + self.path.readableBytes + self.host.readableBytes + spare + 128
        )
        head.write(ByteRange(0, request.methodName.upper + 1), of: source)
        self.writeTarget(of: request, replacing: prefix, into: &head)
        head.writeStaticString(" HTTP/1.1\r\n")
        head.writeImmutableBuffer(self.host)
        head.writePassing(request.fields, of: source) { !$0.isStripped && !self.isReplaced($0, in: source) }
        // Behind the caller's own: the order of Via is the order of the way (RFC 9110 §7.6.3).
        if self.via { head.writeStaticString("Via: 1.1 martlet\r\n") }
        if self.asksForIdentity { head.writeStaticString("Accept-Encoding: identity\r\n") }
        if expects { head.writeStaticString("Expect: 100-continue\r\n") }
        head.writeFraming(framing, isRequest: true, method: request.method)
        if request.asksForWebSocket { head.writeStaticString("Connection: Upgrade\r\nUpgrade: websocket\r\n") }
        return head
    }

    /// The end of a chunked body with the trailers that may go upstream: none that frames, routes or authenticates, none
    /// named like the injected field, and none whose underscores an upstream may turn into that.
    package func lastChunk(_ trailers: Trailers?, allocator: ByteBufferAllocator) -> ByteBuffer {
        .lastChunk(trailers, allocator: allocator) { field, bytes in
            !self.isInjected(field, in: bytes) && !bytes.hasUnderscore(in: field.name)
        }
    }

    private func writeTarget(of request: RequestHead, replacing prefix: Int, into head: inout ByteBuffer) {
        let target = request.target
        guard !target.isAsterisk else {
            head.writeStaticString("*")
            return
        }
        // The empty path of an absolute target is `/` (RFC 9110 §4.2.3).
        if prefix > 0 || target.path.isEmpty {
            head.writeImmutableBuffer(self.path)
        } else if let base = self.path.getSlice(at: self.path.readerIndex, length: self.path.readableBytes - 1) {
            head.writeImmutableBuffer(base)
        }
        let rest = min(target.path.lower + prefix, target.path.upper)
        head.write(ByteRange(rest, target.path.upper), of: request.bytes)
        head.write(target.query, of: request.bytes)
    }

    /// Another line is written in place of the caller's.
    private func isReplaced(_ field: Field, in bytes: ByteBuffer) -> Bool {
        if self.asksForIdentity, bytes.readableBytesUInt8Span.matches(field.name, "accept-encoding") { return true }
        return self.isInjected(field, in: bytes)
    }

    private func isInjected(_ field: Field, in bytes: ByteBuffer) -> Bool {
        guard let name = self.injectedName else { return false }
        let bytes = bytes.readableBytesUInt8Span
        if let twin = self.injectedTwin, bytes.matches(field.name, lowercase: twin) { return true }
        return bytes.matches(field.name, lowercase: name)
    }
}

extension ByteBuffer {
    /// Exactly one framing field, or none for no body. A request that could have a body says so with length 0.
    mutating func writeFraming(_ framing: BodyFraming, isRequest: Bool, method: HTTPMethod) {
        switch framing {
        case .length(let length):
            self.writeStaticString("Content-Length: ")
            self.writeDecimal(length)
            self.writeLineEnd()
        case .chunked:
            self.writeStaticString("Transfer-Encoding: chunked\r\n")
        case .none where isRequest && (method == .post || method == .put || method == .patch):
            self.writeStaticString("Content-Length: 0\r\n")
        case .none, .untilClose: break
        }
    }
}

extension ByteBuffer {
    fileprivate func hasUnderscore(in range: ByteRange) -> Bool {
        let bytes = self.readableBytesUInt8Span
        for position in range.lower..<range.upper where bytes[position] == .underscore { return true }
        return false
    }
}
