/// What the fields of a request mean together: host, expectation, and which of them stay here.
struct RequestFields {
    private(set) var host = ByteRange.empty
    private(set) var expectsContinue = false
    private(set) var hasCookies = false
    private(set) var overridesMethod = false
    private(set) var hasUnderscores = false

    /// Marks as stripped what never goes upstream as it came: the caller's credentials, `Martlet-*`, `Host`, `Expect`, what
    /// tells of the caller's address or of another target.
    ///
    /// - Throws: ``WireError/Code/badRequest`` where the host is missing, doubled or malformed, or where credentials are
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
            case .underscored:
                self.hasUnderscores = true
                continue
            default: continue
            }
            fields[index].isStripped = true
        }
        guard hasHost || minorVersion == 0 else { throw .bad("no Host") }
        if let authority = target.authority {
            // `Host` says nothing beside it (RFC 9112 §3.2.2).
            try HostField.check(authority, in: bytes)
            self.host = authority
        }
    }

    private static func requireASCII(_ value: ByteRange, in bytes: Span<UInt8>) throws(WireError) {
        guard bytes.isASCII(value) else { throw .bad("bytes above 0x7F in a field that is read here") }
    }
}
