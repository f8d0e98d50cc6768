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
