package import NIOCore

/// What a route changes of each request head, prepared once: it holds no secret.
package struct UpstreamRequest: Sendable {
    /// The upstream's path, beginning and ending with `/`.
    private let path: ByteBuffer
    /// The `Host` line with its CRLF, and `Via` where the route adds it.
    private let lines: ByteBuffer
    /// Name of the injected field in lower case, where it is not `authorization`: the caller's own is dropped.
    private let injectedName: [UInt8]?

    /// - Parameters:
    ///   - path: of the upstream, beginning and ending with `/`.
    ///   - host: of the upstream, with its port where that is not the scheme's.
    ///   - via: adds `Via: 1.1 martlet` (RFC 9110 §7.6.3).
    ///   - injectedName: the name of the field that will carry the token.
    package init(path: String, host: String, via: Bool, injectedName: String) {
        self.path = ByteBuffer(string: path)
        self.lines = ByteBuffer(string: "Host: \(host)\r\n\(via ? "Via: 1.1 martlet\r\n" : "")")
        let name = Array(injectedName.lowercased().utf8)
        self.injectedName = name == Array("authorization".utf8) ? nil : name
    }

    /// The head that goes upstream, complete but for what the caller of this adds: the injected line and the empty line.
    ///
    /// Lines that pass are copied as they stand, in runs.
    /// - Parameters:
    ///   - prefix: how many bytes of the request's path the upstream's path replaces; 0 keeps the path, and the
    ///     upstream's stands in front of it (`strip: false`).
    ///   - framing: of the body as it will be sent.
    ///   - spare: room to leave for the injected line, in bytes.
    package func head(
        for request: RequestHead,
        replacing prefix: Int,
        framing: BodyFraming,
        spare: Int,
        allocator: ByteBufferAllocator
    ) -> ByteBuffer {
        let source = request.bytes
        var head = allocator.buffer(
            capacity: source.readableBytes + self.path.readableBytes + self.lines.readableBytes + spare + 64
        )
        head.write(ByteRange(0, request.methodName.upper + 1), of: source)
        self.writeTarget(of: request, replacing: prefix, into: &head)
        head.writeStaticString(" HTTP/1.1\r\n")
        head.writeImmutableBuffer(self.lines)
        head.writePassing(request.fields, of: source) { !$0.isStripped && !self.isInjected($0, in: request) }
        head.writeFraming(framing, isRequest: true, method: request.method)
        return head
    }

    private func writeTarget(of request: RequestHead, replacing prefix: Int, into head: inout ByteBuffer) {
        let target = request.target
        guard !target.isAsterisk else {
            head.writeStaticString("*")
            return
        }
        if prefix > 0 || self.path.readableBytes == 1 && target.path.isEmpty {
            head.writeImmutableBuffer(self.path)
        } else if let base = self.path.getSlice(at: self.path.readerIndex, length: self.path.readableBytes - 1) {
            head.writeImmutableBuffer(base)
        }
        let rest = min(target.path.lower + prefix, target.path.upper)
        head.write(ByteRange(rest, target.path.upper), of: request.bytes)
        head.write(target.query, of: request.bytes)
    }

    private func isInjected(_ field: Field, in request: RequestHead) -> Bool {
        guard let name = self.injectedName, field.known == .other else { return false }
        return request.bytes.readableBytesUInt8Span.matches(field.name, lowercase: name)
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
