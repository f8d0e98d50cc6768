package import NIOCore

/// What a route changes of each request head, prepared once: it holds no secret. An object, since each request takes hold of
/// it, and its parts are many.
package final class UpstreamRequest: Sendable {
    /// The upstream's path, beginning and ending with `/`.
    private let path: [UInt8]
    /// The same without the last `/`: a path follows that begins with one.
    private let base: [UInt8]
    /// The `Host` line with its CRLF.
    private let host: [UInt8]
    /// The route adds `Via`.
    private let via: Bool
    /// Name of the injected field in lower case, where it is not `authorization`, which never passes anyway.
    private let injectedName: [UInt8]?
    /// The same with `-` for each `_`, where it has any: an upstream may take the one for the other.
    private let injectedTwin: [UInt8]?
    /// Answers are looked at: they must not come compressed.
    private let asksForIdentity: Bool
    /// The caller's `Cookie` passes.
    private let passesCookies: Bool
    /// What the caller says of its own callers is kept, and extended by the caller's address.
    package let appendsForwarded: Bool

    /// - Parameters:
    ///   - path: of the upstream, beginning and ending with `/`.
    ///   - host: of the upstream, with its port where that is not the scheme's.
    ///   - via: adds `Via: 1.1 martlet` (RFC 9110 §7.6.3).
    ///   - injectedName: the name of the field that will carry the token.
    ///   - asksForIdentity: puts `Accept-Encoding: identity` in place of the caller's (RFC 9110 §12.5.3).
    ///   - passesCookies: lets the caller's `Cookie` through.
    ///   - appendsForwarded: keeps and extends `Forwarded` (RFC 7239) and its older kin, which are dropped else.
    package init(
        path: String,
        host: String,
        via: Bool,
        injectedName: String,
        asksForIdentity: Bool = false,
        passesCookies: Bool = false,
        appendsForwarded: Bool = false
    ) {
        self.path = Array(path.utf8)
        self.base = self.path.dropLast()
        self.host = Array("Host: \(host)\r\n".utf8)
        self.via = via
        let name = Array(injectedName.lowercased().utf8)
        self.asksForIdentity = asksForIdentity
        self.passesCookies = passesCookies
        self.appendsForwarded = appendsForwarded
        self.injectedName = name == Array("authorization".utf8) ? nil : name
        let twin = name.map { $0 == .underscore ? UInt8(ascii: "-") : $0 }
        self.injectedTwin = twin == name ? nil : twin
    }

    /// The head that goes upstream, complete but for what the caller of this adds: the injected line and the empty line.
    ///
    /// Lines that credential are copied as they stand, in runs.
    /// - Parameters:
    ///   - prefix: how many bytes of the request's path the upstream's path replaces; 0 keeps the path, and the
    ///     upstream's stands in front of it (`strip: false`).
    ///   - framing: of the body as it will be sent; a request has none that ends with the connection.
    ///   - expects: adds `Expect: 100-continue` (RFC 9110 §10.1.1).
    ///   - hop: the caller, where this ``appendsForwarded``.
    ///   - spare: room to leave for the injected line, in bytes.
    ///   - buffer: whose memory to use, where nobody else holds it; what it holds is lost.
    package func head(
        for request: RequestHead,
        replacing prefix: Int,
        framing: BodyFraming,
        expects: Bool = false,
        hop: ForwardingHop? = nil,
        spare: Int,
        reusing buffer: consuming ByteBuffer = ByteBuffer()
    ) -> ByteBuffer {
        assert(framing != .untilClose, "a request has no body that ends with the connection")
        let source = request.bytes.readableBytesUInt8Span
        let estimate = source.count + self.path.count + self.host.count + 128
        var head = buffer
        head.clear(minimumCapacity: estimate + spare)
        head.writeHead(estimate: estimate) { head in
            head.write(ByteRange(0, request.methodName.upper + 1), of: source)
            self.writeTarget(of: request.target, replacing: prefix, in: source, into: &head)
            head.write(" HTTP/1.1\r\n")
            head.write(self.host)
            head.writePassing(request.fields, of: source) { !$0.isStripped && !self.isReplaced($0, in: source) }
            if self.appendsForwarded, let hop { head.writeForwarding(of: request, in: source, behind: hop) }
            // Behind the caller's own: the order of Via is the order of the way (RFC 9110 §7.6.3).
            if self.via { head.write("Via: 1.1 martlet\r\n") }
            if self.asksForIdentity { head.write("Accept-Encoding: identity\r\n") }
            if expects { head.write("Expect: 100-continue\r\n") }
            head.writeFraming(framing)
            if request.asksForWebSocket { head.write("Connection: Upgrade\r\nUpgrade: websocket\r\n") }
        }
        return head
    }

    /// The end of a chunked body with the trailers that may go upstream: none that frames, routes or authenticates, none
    /// that is written here, and none that an upstream may take for such a one.
    package func lastChunk(_ trailers: Trailers?) -> ByteBuffer {
        .lastChunk(trailers) { field, source in
            guard !self.isReplaced(field, in: source) else { return false }
            return field.known != .underscored
                || KnownField(hyphenated: field.name, in: source).passesAsTrailer
                    && !self.isLookalike(field, in: source)
        }
    }

    /// Whether a request has a field that the upstream may take for one that is written here, since it reads `_` as `-`.
    package func isMistakable(_ request: RequestHead) -> Bool {
        guard request.hasUnderscores else { return false }
        let bytes = request.bytes.readableBytesUInt8Span
        return request.fields.contains { $0.known == .underscored && self.isLookalike($0, in: bytes) }
    }

    /// - Parameter field: whose name has `_`. One of the injected field's very name is replaced, as any other is.
    private func isLookalike(_ field: Field, in bytes: Span<UInt8>) -> Bool {
        let read = bytes.hyphenated(field.name)
        if self.asksForIdentity, read == Array("accept-encoding".utf8) { return true }
        guard let name = self.injectedName, !bytes.matches(field.name, lowercase: name) else { return false }
        return read == self.injectedTwin ?? name
    }

    private func writeTarget(
        of target: RequestTarget,
        replacing prefix: Int,
        in source: Span<UInt8>,
        into head: inout HeadWriter
    ) {
        guard !target.isAsterisk else { return head.write("*") }
        // The empty path of an absolute target is `/` (RFC 9110 §4.2.3).
        head.write(prefix > 0 || target.path.isEmpty ? self.path : self.base)
        head.write(ByteRange(min(target.path.lower + prefix, target.path.upper), target.path.upper), of: source)
        head.write(target.query, of: source)
    }

    /// It does not pass this route, or another line is written in its place.
    private func isReplaced(_ field: Field, in source: Span<UInt8>) -> Bool {
        if field.known == .cookie, !self.passesCookies { return true }
        if self.asksForIdentity, source.matches(field.name, "accept-encoding") { return true }
        guard let name = self.injectedName else { return false }
        if let twin = self.injectedTwin, source.matches(field.name, lowercase: twin) { return true }
        return source.matches(field.name, lowercase: name)
    }
}

extension HeadWriter {
    /// Exactly one framing field, or none for no body.
    mutating func writeFraming(_ framing: BodyFraming) {
        switch framing {
        case .length(let length):
            self.write("Content-Length: ")
            self.write(length)
            self.writeLineEnd()
        case .chunked:
            self.write("Transfer-Encoding: chunked\r\n")
        case .none, .untilClose: break
        }
    }
}

/// The last step of a request's way to the gateway, as `Forwarded` (RFC 7239) and the older `X-Forwarded-*` tell of it.
package struct ForwardingHop: Sendable {
    /// For `X-Forwarded-For`.
    fileprivate let address: [UInt8]
    /// For `Forwarded`: a node, in quotes where it is no token (RFC 7239 §6).
    fileprivate let node: [UInt8]
    fileprivate let scheme: StaticString

    /// - Parameters:
    ///   - address: the caller's IP address, without brackets; `nil` for one that has none, over a Unix socket.
    ///   - isEncrypted: it has come over TLS.
    package init(address: String?, isEncrypted: Bool) {
        // An IPv4 caller of a listener for both families.
        let isMapped = address?.lowercased().hasPrefix("::ffff:") == true && address?.contains(".") == true
        let known = (isMapped ? address.map { String($0.dropFirst(7)) } : address) ?? "unknown"
        self.address = Array(known.utf8)
        self.node = known.contains(":") ? Array("\"[\(known)]\"".utf8) : self.address
        self.scheme = isEncrypted ? "https" : "http"
    }
}

extension HeadWriter {
    /// What the caller says of the request's way, each list with one member more, whatever `Connection` would have taken
    /// away. What comes on several lines leaves on one: many an upstream looks at one line only.
    mutating func writeForwarding(of request: RequestHead, in source: Span<UInt8>, behind hop: ForwardingHop) {
        self.writeList("X-Forwarded-For: ", .xForwardedFor, of: request, in: source) { $0.write(hop.address) }
        self.writeList("X-Forwarded-Proto: ", .xForwardedProto, of: request, in: source) { $0.write(hop.scheme) }
        if !request.host.isEmpty {
            self.writeList("X-Forwarded-Host: ", .xForwardedHost, of: request, in: source) {
                $0.write(request.host, of: source)
            }
        }
        self.writeList("Forwarded: ", .forwarded, of: request, in: source) { line in
            line.write("for=")
            line.write(hop.node)
            if !request.host.isEmpty {
                // It holds no quote.
                line.write(";host=\"")
                line.write(request.host, of: source)
                line.write("\"")
            }
            line.write(";proto=")
            line.write(hop.scheme)
        }
    }

    private mutating func writeList(
        _ name: StaticString,
        _ known: KnownField,
        of request: RequestHead,
        in source: Span<UInt8>,
        last: (inout HeadWriter) -> Void
    ) {
        self.write(name)
        for field in request.fields where field.known == known && !field.value.isEmpty {
            // An open quote would swallow the member that is to be told from the caller's own.
            guard source.closesQuotes(in: field.value) else { continue }
            self.write(field.value, of: source)
            self.write(", ")
        }
        last(&self)
        self.writeLineEnd()
    }
}

extension Span<UInt8> {
    /// Whether each quoted string in `range` ends there (RFC 9110 §5.6.4).
    fileprivate func closesQuotes(in range: ByteRange) -> Bool {
        var isQuoted = false
        var position = range.lower
        while position < range.upper {
            if self[position] == .quote { isQuoted.toggle() }
            position += isQuoted && self[position] == .backslash ? 2 : 1
        }
        return !isQuoted && position == range.upper
    }
}
