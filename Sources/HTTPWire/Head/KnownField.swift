/// The fields that mean something to a gateway; all others pass unread.
package enum KnownField: UInt8, CaseIterable, Sendable {
    /// A field that is not read here.
    case other
    /// A field that is not read here, with `_` in its name, which an upstream may read as `-`.
    case underscored
    /// Fields that route and frame a message.
    case host, contentLength, transferEncoding
    /// Fields that belong to one connection or to the framing.
    case connection, keepAlive, proxyConnection, te, trailer, upgrade, http2Settings
    /// Credentials for a proxy, and the challenge that asks for them.
    case proxyAuthorization, proxyAuthenticate
    /// Fields that a caller authenticates with; `martlet` is any `Martlet-*`.
    case authorization, martlet
    /// `Expect`.
    case expect
    /// Fields that tell the caller's address and what it asked a proxy for; `xForwarded` is any other `X-Forwarded-*`.
    case forwarded, xForwardedFor, xForwardedHost, xForwardedProto, xForwarded, xRealIP
    /// Fields that some upstreams take for the request's target.
    case xOriginalURL, xRewriteURL
    /// Fields that some upstreams take for the request's method.
    case xHTTPMethodOverride, xHTTPMethod, xMethodOverride
    /// Fields by which a browser describes the page that a request comes from.
    case origin, secFetchSite
    /// Sessions.
    case cookie, setCookie
    /// Fields that point into the upstream.
    case location, contentLocation, operationLocation, link, refresh
    /// Fields in which an upstream speaks of its own host, and which a client would apply to the gateway's.
    case altSvc, strictTransportSecurity, publicKeyPins, publicKeyPinsReportOnly
    /// The challenges of a 401.
    case wwwAuthenticate
    /// Fields that pass, but that no `Connection` may name.
    case contentType, contentEncoding, via, date

    /// Recognizes a name by its length and bytes, without regard to case.
    init(_ name: ByteRange, in bytes: Span<UInt8>) {
        let candidate = Self.candidate(name, in: bytes)
        if candidate != .other, bytes.matches(name, candidate.name) {
            self = candidate
        } else if name.count >= 8, bytes.matches(ByteRange(name.lower, name.lower + 8), "martlet-") {
            self = .martlet
        } else if name.count >= 12, bytes.matches(ByteRange(name.lower, name.lower + 12), "x-forwarded-") {
            self = .xForwarded
        } else {
            self = .other
        }
    }

    /// What a name with `_` means to an upstream that reads each `_` as `-`, as many do behind CGI (RFC 3875 §4.1.18).
    init(hyphenated name: ByteRange, in bytes: Span<UInt8>) {
        let read = bytes.hyphenated(name)
        self.init(ByteRange(0, read.count), in: read.span)
    }

    /// The name in lower case. For `Martlet-*` and `X-Forwarded-*` the common beginning; empty for fields that are not
    /// known.
    package var name: StaticString {
        switch self {
        case .other, .underscored: ""
        case .host: "host"
        case .contentLength: "content-length"
        case .transferEncoding: "transfer-encoding"
        case .connection: "connection"
        case .keepAlive: "keep-alive"
        case .proxyConnection: "proxy-connection"
        case .te: "te"
        case .trailer: "trailer"
        case .upgrade: "upgrade"
        case .http2Settings: "http2-settings"
        case .proxyAuthorization: "proxy-authorization"
        case .proxyAuthenticate: "proxy-authenticate"
        case .authorization: "authorization"
        case .martlet: "martlet-"
        case .expect: "expect"
        case .forwarded: "forwarded"
        case .xForwardedFor: "x-forwarded-for"
        case .xForwardedHost: "x-forwarded-host"
        case .xForwardedProto: "x-forwarded-proto"
        case .xForwarded: "x-forwarded-"
        case .xRealIP: "x-real-ip"
        case .xOriginalURL: "x-original-url"
        case .xRewriteURL: "x-rewrite-url"
        case .xHTTPMethodOverride: "x-http-method-override"
        case .xHTTPMethod: "x-http-method"
        case .xMethodOverride: "x-method-override"
        case .origin: "origin"
        case .secFetchSite: "sec-fetch-site"
        case .cookie: "cookie"
        case .setCookie: "set-cookie"
        case .location: "location"
        case .contentLocation: "content-location"
        case .operationLocation: "operation-location"
        case .link: "link"
        case .refresh: "refresh"
        case .altSvc: "alt-svc"
        case .strictTransportSecurity: "strict-transport-security"
        case .publicKeyPins: "public-key-pins"
        case .publicKeyPinsReportOnly: "public-key-pins-report-only"
        case .wwwAuthenticate: "www-authenticate"
        case .contentType: "content-type"
        case .contentEncoding: "content-encoding"
        case .via: "via"
        case .date: "date"
        }
    }

    /// The one field that a name of this length and first letter can be. The length comes first: a switch over both
    /// would compare with each of its rows.
    private static func candidate(_ name: ByteRange, in bytes: Span<UInt8>) -> KnownField {
        let first = bytes[name.lower].lowercased
        return switch name.count {
        case 2 where first == 0x74: .te
        case 3 where first == 0x76: .via
        case 4:
            switch first {
            case 0x68: .host
            case 0x6C: .link
            case 0x64: .date
            default: .other
            }
        case 6:
            switch first {
            case 0x65: .expect
            case 0x63: .cookie
            case 0x6F: .origin
            default: .other
            }
        case 7:
            switch first {
            case 0x61: .altSvc
            case 0x72: .refresh
            case 0x74: .trailer
            case 0x75: .upgrade
            default: .other
            }
        case 8: .location
        case 9: first == 0x66 ? .forwarded : .xRealIP
        case 10:
            switch first {
            case 0x63: .connection
            case 0x6B: .keepAlive
            case 0x73: .setCookie
            default: .other
            }
        case 12: .contentType
        case 13 where first == 0x78: bytes[name.lower + 2].lowercased == 0x68 ? .xHTTPMethod : .xRewriteURL
        case 13: .authorization
        case 14:
            switch first {
            case 0x63: .contentLength
            case 0x68: .http2Settings
            case 0x73: .secFetchSite
            case 0x78: .xOriginalURL
            default: .other
            }
        case 15: first == 0x78 ? .xForwardedFor : .publicKeyPins
        case 16:
            switch first {
            case 0x63 where bytes[name.lower + 8].lowercased == 0x6C: .contentLocation
            case 0x63: .contentEncoding
            case 0x70: .proxyConnection
            case 0x77: .wwwAuthenticate
            case 0x78: .xForwardedHost
            default: .other
            }
        case 17 where first == 0x78: bytes[name.lower + 2].lowercased == 0x66 ? .xForwardedProto : .xMethodOverride
        case 17: .transferEncoding
        case 18: first == 0x6F ? .operationLocation : .proxyAuthenticate
        case 19: .proxyAuthorization
        case 22: .xHTTPMethodOverride
        case 25: .strictTransportSecurity
        case 27: .publicKeyPinsReportOnly
        default: .other
        }
    }
}

// MARK: - Rules for known fields

extension KnownField {
    /// Whether the field belongs to one connection only (RFC 9110 §7.6.1) and never passes. `Trailer` does not: it
    /// describes the message.
    var isHopByHop: Bool {
        switch self {
        case .connection, .keepAlive, .proxyConnection, .te, .upgrade, .http2Settings, .transferEncoding,
            .proxyAuthorization, .proxyAuthenticate:
            true
        default: false
        }
    }

    /// Whether no `Connection` field may remove the field.
    var isProtected: Bool {
        switch self {
        case .host, .contentLength, .transferEncoding, .authorization, .martlet, .expect, .contentType,
            .contentEncoding, .cookie, .setCookie, .via, .date, .location, .contentLocation, .wwwAuthenticate:
            true
        default: false
        }
    }

    /// Whether the gateway sets, removes or reads the field in a request.
    var isRequestMatter: Bool {
        switch self {
        case .host, .contentLength, .transferEncoding, .connection, .keepAlive, .proxyConnection, .te, .trailer,
            .upgrade, .http2Settings, .proxyAuthorization, .proxyAuthenticate, .authorization, .martlet, .expect,
            .forwarded, .xForwardedFor, .xForwardedHost, .xForwardedProto, .xForwarded, .xRealIP, .xOriginalURL,
            .xRewriteURL, .xHTTPMethodOverride, .xHTTPMethod, .xMethodOverride, .origin, .secFetchSite, .cookie, .via:
            true
        case .other, .underscored, .setCookie, .location, .contentLocation, .operationLocation, .link, .refresh,
            .altSvc, .strictTransportSecurity, .publicKeyPins, .publicKeyPinsReportOnly, .wwwAuthenticate,
            .contentType, .contentEncoding, .date:
            false
        }
    }

    /// Whether some upstreams take the field's value for the request's method.
    package var isMethodOverride: Bool {
        switch self {
        case .xHTTPMethodOverride, .xHTTPMethod, .xMethodOverride: true
        default: false
        }
    }

    /// Whether the field's value may point into the upstream, so that callers could not follow it.
    var isTarget: Bool {
        switch self {
        case .location, .contentLocation, .operationLocation, .link, .refresh: true
        default: false
        }
    }

    /// Whether a response to a caller may have the field.
    func passesToCaller(withCookies: Bool) -> Bool {
        switch self {
        case .setCookie: withCookies
        case .altSvc, .strictTransportSecurity, .publicKeyPins, .publicKeyPinsReportOnly: false
        default: true
        }
    }

    /// Whether a trailer of this name may be forwarded: none that frames, routes or authenticates (RFC 9110 §6.5.1),
    /// nor any other that a head must not have.
    var passesAsTrailer: Bool { self == .other || self == .underscored }
}
