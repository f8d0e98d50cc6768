package import NIOCore

/// Takes request heads from a byte stream (RFC 9112 §2–3). Each head is judged as a whole before anything is done with
/// it.
///
/// One per connection. Memory is bounded by the limits. Each byte is read a fixed number of times, however small the
/// pieces are in which the head arrives.
package struct RequestHeadParser {
    private let limits: HeadLimits
    private var assembly = HeadAssembly<RequestLine>()
    private var spare = SpareFields()
    /// The empty line before this request was skipped.
    private var hasSkippedLine = false

    /// - Parameter limits: of each head.
    package init(limits: HeadLimits = .request) {
        self.limits = limits
    }

    /// Whether part of a head has come.
    package var hasBegun: Bool { self.assembly.scanner.scanned > 0 }

    /// Takes one head from the front of `buffer`, or returns `nil` while the head is incomplete.
    ///
    /// - Throws: what is wrong, as soon as that is certain; the connection must close then.
    package mutating func next(_ buffer: inout ByteBuffer) throws(WireError) -> RequestHead? {
        guard self.hasBegun || self.skipEmptyLine(&buffer) else { return nil }
        let limits = self.limits
        let head: HeadAssembly<RequestLine>.Head?
        do throws(WireError) {
            head = try self.assembly.take(&buffer, limit: limits.head) { bytes, scanner throws(WireError) in
                try Self.judgeLine(bytes, scanner, limits)
            }
        } catch {
            throw error.code == .badRequest && Self.isTLS(buffer) ? Self.unexpectedTLS : error
        }
        guard let head else { return nil }
        self.hasSkippedLine = false
        return try self.parse(head.bytes, head.line)
    }

    /// Skips one empty line before a request (RFC 9112 §2.2). Returns whether there are bytes to read.
    private mutating func skipEmptyLine(_ buffer: inout ByteBuffer) -> Bool {
        if !self.hasSkippedLine, buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) == .carriageReturn {
            guard buffer.readableBytes > 1 else { return false }
            if buffer.getInteger(at: buffer.readerIndex + 1, as: UInt8.self) == .lineFeed {
                buffer.moveReaderIndex(forwardBy: 2)
                self.hasSkippedLine = true
            }
        }
        return buffer.readableBytes > 0
    }

    /// Whether the bytes begin a TLS handshake (RFC 8446 §5.1). Its random bytes may break any rule, so the name of
    /// that rule would mislead.
    private static func isTLS(_ buffer: ByteBuffer) -> Bool {
        buffer.getInteger(at: buffer.readerIndex, as: UInt16.self) == 0x1603
    }

    private static let unexpectedTLS = WireError.bad(
        "TLS on a listener without tls: the client must use http:// instead of https://"
    )

    private struct RequestLine {
        var method: HTTPMethod
        var methodName: ByteRange
        var target: ByteRange
        var minorVersion: UInt8
        /// Offset behind its CRLF.
        var end: Int
    }

    /// Judges the request line once it is complete, or as soon as it is too long.
    private static func judgeLine(
        _ bytes: Span<UInt8>,
        _ scanner: HeadScanner,
        _ limits: HeadLimits
    ) throws(WireError) -> RequestLine? {
        guard let end = scanner.firstLineEnd else {
            // The CR of a line within the limit may be here already.
            guard scanner.scanned <= limits.requestLine + 1 else { throw Self.tooLong(bytes) }
            return nil
        }
        return try Self.requestLine(bytes, end: end, limits)
    }

    private static func requestLine(
        _ bytes: Span<UInt8>,
        end: Int,
        _ limits: HeadLimits
    ) throws(WireError) -> RequestLine {
        let lineEnd = end - 2
        guard lineEnd <= limits.requestLine else { throw Self.tooLong(bytes) }
        var position = 0
        while position < lineEnd, bytes[position].isToken { position += 1 }
        guard position > 0, position < lineEnd, bytes[position] == .space else {
            throw .bad("the request line does not begin with a method and one space")
        }
        let methodName = ByteRange(0, position)
        let method = try HTTPMethod(methodName, in: bytes)
        let targetStart = position + 1
        position = targetStart
        var isASCII = true
        while position < lineEnd, bytes[position].isVisible || bytes[position] >= 0x80, bytes[position] != 0x23 {
            if bytes[position] >= 0x80 { isASCII = false }
            position += 1
        }
        let target = ByteRange(targetStart, position)
        guard target.count <= limits.target else { throw WireError(.targetTooLong, "the target is too long") }
        guard !target.isEmpty, position < lineEnd, bytes[position] == .space else {
            throw .bad("the target is empty, holds a character that no target has, or is not followed by a version")
        }
        guard isASCII || bytes.isVisibleUTF8(target) else {
            throw .bad("the target holds bytes above 0x7F that are not UTF-8")
        }
        return RequestLine(
            method: method,
            methodName: methodName,
            target: target,
            minorVersion: try HTTPVersion.minor(ByteRange(position + 1, lineEnd), in: bytes),
            end: end
        )
    }

    /// What is wrong with a request line above ``HeadLimits/requestLine``.
    private static func tooLong(_ bytes: Span<UInt8>) -> WireError {
        var position = 0
        while position < HeadLimits.besideTarget, bytes[position].isToken { position += 1 }
        return position < HeadLimits.besideTarget
            ? WireError(.targetTooLong, "the request line is too long") : .bad("the method is too long")
    }

    private mutating func parse(_ buffer: ByteBuffer, _ line: RequestLine) throws(WireError) -> RequestHead {
        let bytes = buffer.readableBytesUInt8Span
        let target = try RequestTarget(line.target, method: line.method, in: bytes)
        let section = FieldSection(limits: self.limits, refusesLookalikes: true)
        var fields = self.spare.take()
        try section.read(bytes, from: line.end, to: bytes.count, into: &fields)
        let connection = try ConnectionOptions(&fields, in: bytes, isRequest: true)
        let body = try BodyFraming.declared(by: &fields, in: bytes, minorVersion: line.minorVersion) ?? .none
        let meaning = try RequestFields(&fields, in: bytes, target: target, minorVersion: line.minorVersion)
        self.spare.keep(fields)
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
            expectsContinue: meaning.expectsContinue && line.minorVersion == 1,
            asksForWebSocket: connection.upgrade && line.method == .get && line.minorVersion == 1
                && (body == .none || body == .length(0)) && WebSocketUpgrade.isOffered(by: fields, in: bytes),
            hasCookies: meaning.hasCookies,
            overridesMethod: meaning.overridesMethod,
            hasVia: meaning.hasVia,
            hasUnderscores: meaning.hasUnderscores
        )
    }
}

extension HeadLimits {
    /// The longest target, with room for a method and a version.
    fileprivate var requestLine: Int { self.target + Self.besideTarget }
    fileprivate static let besideTarget = 64
}

/// What the fields of a request mean together: host, expectation, and which fields are not forwarded.
struct RequestFields {
    private(set) var host = ByteRange.empty
    private(set) var expectsContinue = false
    private(set) var hasCookies = false
    private(set) var overridesMethod = false
    private(set) var hasVia = false
    private(set) var hasUnderscores = false

    /// Marks as stripped the fields that never go upstream as they came: the caller's credentials, `Martlet-*`, `Host`,
    /// `Expect`, and fields that tell the caller's address or name another target.
    ///
    /// - Throws: ``WireError/Code/badRequest`` if the host is missing, doubled or malformed, or if credentials are
    ///   doubled; ``WireError/Code/expectationFailed`` for an unknown expectation.
    init(
        _ fields: inout [Field],
        in bytes: Span<UInt8>,
        target: RequestTarget,
        minorVersion: UInt8
    ) throws(WireError) {
        var hasHost = false
        var hasAuthorization = false
        for index in fields.indices {
            let value = fields[index].value
            switch fields[index].known {
            case .host:
                guard !hasHost else { throw .bad("more than one Host") }
                hasHost = true
                try HostField.check(value, in: bytes)
                self.host = value
            case .expect:
                guard bytes.matches(value, "100-continue") else {
                    throw WireError(.expectationFailed, "an expectation other than 100-continue")
                }
                self.expectsContinue = true
            case .authorization:
                guard !hasAuthorization else { throw .bad("more than one Authorization") }
                hasAuthorization = true
                try Self.requireASCII(value, in: bytes)
            case .martlet:
                for other in fields.indices[..<index]
                where fields[other].known == .martlet && bytes.equal(fields[other].name, fields[index].name) {
                    throw .bad("more than one Martlet field of a name")
                }
                try Self.requireASCII(value, in: bytes)
            case .forwarded, .xForwardedFor, .xForwardedHost, .xForwardedProto, .xForwarded, .xRealIP, .xOriginalURL,
                .xRewriteURL:
                break
            case .cookie:
                self.hasCookies = true
                continue
            case .xHTTPMethodOverride, .xHTTPMethod, .xMethodOverride:
                self.overridesMethod = true
                continue
            case .via:
                self.hasVia = true
                continue
            case .underscored:
                self.hasUnderscores = true
                continue
            default: continue
            }
            fields[index].isStripped = true
        }
        guard hasHost || minorVersion == 0 else { throw .bad("no Host") }
        if let authority = target.authority {
            // `Host` does not count if the target has an authority (RFC 9112 §3.2.2).
            try HostField.check(authority, in: bytes)
            self.host = authority
        }
    }

    private static func requireASCII(_ value: ByteRange, in bytes: Span<UInt8>) throws(WireError) {
        guard bytes.isASCII(value) else { throw .bad("bytes above 0x7F in a field that is read here") }
    }
}

/// The grammar of `Host` and of a target's authority: `uri-host [ ":" port ]` (RFC 9110 §7.2), without userinfo.
enum HostField {
    static func check(_ host: ByteRange, in bytes: Span<UInt8>) throws(WireError) {
        guard !host.isEmpty else { throw .bad("an empty host") }
        var position = host.lower
        if bytes[position] == 0x5B {
            position += 1
            while position < host.upper,
                bytes[position].hexValue != nil || bytes[position] == .colon || bytes[position] == .dot
            {
                position += 1
            }
            guard position < host.upper, bytes[position] == 0x5D, position - host.lower > 2 else {
                throw .bad("a malformed IPv6 host")
            }
            position += 1
        } else {
            while position < host.upper, bytes[position].isHostName { position += 1 }
            guard position > host.lower else { throw .bad("a host without a name") }
        }
        guard position < host.upper else { return }
        guard bytes[position] == .colon else { throw .bad("a character that no host has") }
        var port = 0
        let portStart = position + 1
        for index in portStart..<host.upper {
            guard bytes[index].isDigit else { throw .bad("a port that is not a number") }
            port = port * 10 + Int(bytes[index] & 0x0F)
            guard port <= 65_535 else { throw .bad("a port above 65535") }
        }
        guard portStart < host.upper else { throw .bad("an empty port") }
    }

    /// The name without its port.
    package static func name(of host: ByteRange, in bytes: Span<UInt8>) -> ByteRange {
        var position = host.upper
        while position > host.lower, bytes[position - 1].isDigit { position -= 1 }
        guard position > host.lower, bytes[position - 1] == .colon, position < host.upper else { return host }
        // `[::1]` ends with a bracket, so a digit run at the end is a port there too.
        return ByteRange(host.lower, position - 1)
    }
}
