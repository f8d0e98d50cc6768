package import NIOCore

/// What a route changes in each request head, prepared once. It holds no secret. A class, since each request retains
/// it, and copying a struct would retain each of its parts.
package final class UpstreamRequest: Sendable {
    /// The upstream's path, beginning and ending with `/`.
    private let path: [UInt8]
    /// ``path`` without the last `/`, to precede a path that begins with one.
    private let base: [UInt8]
    /// The `Host` line with its CRLF.
    private let host: [UInt8]
    /// `nil`: the route adds no `Via`.
    private let via: Via?
    /// Name of the injected field in lower case; `nil` for `authorization`, which never passes anyway.
    private let injectedName: [UInt8]?
    /// The injected field's name with `-` for each `_`, if it has any: an upstream may take one name for the other.
    private let injectedTwin: [UInt8]?
    /// Responses are inspected, so they must not come compressed.
    private let asksForIdentity: Bool
    /// The caller's `Cookie` passes.
    private let passesCookies: Bool
    /// The caller's forwarding fields are kept, and extended by the caller's address.
    package let appendsForwarded: Bool

    /// - Parameters:
    ///   - path: of the upstream, beginning and ending with `/`.
    ///   - host: of the upstream, with its port if that is not the scheme's.
    ///   - via: is added to `Via`.
    ///   - injectedName: the name of the field that will carry the token.
    ///   - asksForIdentity: replaces the caller's `Accept-Encoding` with `identity` (RFC 9110 §12.5.3).
    ///   - passesCookies: lets the caller's `Cookie` through.
    ///   - appendsForwarded: keeps and extends `Forwarded` (RFC 7239) and the older `X-Forwarded-*`, which are dropped
    ///     otherwise.
    package init(
        path: String,
        host: String,
        via: Via?,
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

    /// The head that goes upstream, complete except for the injected line and the empty line, which the calling code
    /// adds.
    ///
    /// Lines that pass are copied as they are, in runs.
    /// - Parameters:
    ///   - prefix: how many bytes of the request's path the upstream's path replaces; 0 keeps the path, and puts the
    ///     upstream's path in front of it (`strip: false`).
    ///   - framing: how the body will be sent; a request's body can't end with the connection.
    ///   - expects: adds `Expect: 100-continue` (RFC 9110 §10.1.1).
    ///   - validators: whole lines that ask whether a stored response is still good (RFC 9111 §4.3.1). They replace the
    ///     caller's own conditions and range; `nil` lets those pass.
    ///   - hop: the caller, if this ``appendsForwarded``.
    ///   - spare: bytes to leave free for the injected line.
    ///   - buffer: memory to reuse if nobody else holds it; its contents are lost.
    package func head(
        for request: RequestHead,
        replacing prefix: Int,
        framing: BodyFraming,
        expects: Bool = false,
        validators: [UInt8]? = nil,
        hop: ForwardingHop? = nil,
        spare: Int,
        reusing buffer: consuming ByteBuffer = ByteBuffer()
    ) -> ByteBuffer {
        assert(framing != .untilClose, "a request has no body that ends with the connection")
        let source = request.bytes.readableBytesUInt8Span
        let maxForwards = request.maxForwards
        let estimate = source.count + self.path.count + self.host.count + 128
        var head = buffer
        head.clear(minimumCapacity: estimate + spare)
        head.writeHead(estimate: estimate) { head in
            head.write(ByteRange(0, request.methodName.upper + 1), of: source)
            self.writeTarget(of: request.target, replacing: prefix, in: source, into: &head)
            head.write(" HTTP/1.1\r\n")
            head.write(self.host)
            head.writePassing(request.fields, of: source) { field in
                !field.isStripped && !self.isReplaced(field, in: source)
                    && (validators == nil || !source.isCondition(field))
                    && (maxForwards == nil || !source.isMaxForwards(field))
            }
            if let maxForwards {
                head.write("Max-Forwards: ")
                head.write(max(maxForwards - 1, 0))
                head.writeLineEnd()
            }
            if let validators { head.write(validators) }
            if self.appendsForwarded, let hop { head.writeForwarding(of: request, in: source, behind: hop) }
            // Behind the caller's own Via: the lines are in the order of the hops (RFC 9110 §7.6.3).
            if let via = self.via { head.write(via.line(for: request)) }
            if self.asksForIdentity { head.write("Accept-Encoding: identity\r\n") }
            if expects { head.write("Expect: 100-continue\r\n") }
            head.writeFraming(framing)
            if request.asksForWebSocket { head.write("Connection: Upgrade\r\nUpgrade: websocket\r\n") }
        }
        return head
    }

    /// The last chunk of a chunked body, with the trailers that may go upstream: none that frames, routes or
    /// authenticates, none that is written here, and none that an upstream may mistake for one of these.
    package func lastChunk(_ trailers: Trailers?) -> ByteBuffer {
        .lastChunk(trailers) { field, source in
            guard !self.isReplaced(field, in: source) else { return false }
            return field.known != .underscored
                || KnownField(hyphenated: field.name, in: source).passesAsTrailer
                    && !self.isLookalike(field, in: source)
        }
    }

    /// Whether an upstream that reads `_` as `-` may mistake a field of the request for one that is written here.
    package func isMistakable(_ request: RequestHead) -> Bool {
        guard request.hasUnderscores else { return false }
        let bytes = request.bytes.readableBytesUInt8Span
        return request.fields.contains { $0.known == .underscored && self.isLookalike($0, in: bytes) }
    }

    /// - Parameter field: has a name with `_`. A field with exactly the injected name is replaced, like any other.
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

    /// Whether the field does not pass this route, or another line is written in its place.
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

/// The last hop of a request before the gateway, as `Forwarded` (RFC 7239) and the older `X-Forwarded-*` describe it.
package struct ForwardingHop: Sendable {
    /// For `X-Forwarded-For`.
    fileprivate let address: [UInt8]
    /// For `Forwarded`: a node, in quotes if it is not a token (RFC 7239 §6).
    fileprivate let node: [UInt8]
    fileprivate let scheme: StaticString

    /// - Parameters:
    ///   - address: the caller's IP address, without brackets; `nil` over a Unix socket, where a caller has none.
    ///   - isEncrypted: the request has come over TLS.
    package init(address: String?, isEncrypted: Bool) {
        // An IPv4 caller of a listener for both families has such an address.
        let isMapped = address?.lowercased().hasPrefix("::ffff:") == true && address?.contains(".") == true
        let known = (isMapped ? address.map { String($0.dropFirst(7)) } : address) ?? "unknown"
        self.address = Array(known.utf8)
        self.node = known.contains(":") ? Array("\"[\(known)]\"".utf8) : self.address
        self.scheme = isEncrypted ? "https" : "http"
    }
}

extension HeadWriter {
    /// Writes the forwarding fields: each of the caller's lists with one more member, even if `Connection` names the
    /// field. Several lines of one list become one line, since many upstreams read one line only.
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
                // A host holds no quote.
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
            // An open quote would swallow the gateway's own member, which must be told from the caller's.
            guard source.closesQuotes(in: field.value) else { continue }
            self.write(field.value, of: source)
            self.write(", ")
        }
        last(&self)
        self.writeLineEnd()
    }
}

extension Span<UInt8> {
    /// Whether each quoted string that begins in `range` ends there (RFC 9110 §5.6.4).
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
