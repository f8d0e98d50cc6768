/// The fields that mean something to a gateway; all others pass unread.
package enum KnownField: UInt8, Sendable {
    /// No field that is read here.
    case other
    /// What routes and frames a message.
    case host, contentLength, transferEncoding
    /// What belongs to one connection or to the framing.
    case connection, keepAlive, proxyConnection, te, trailer, upgrade, http2Settings
    /// Credentials for a proxy, and what asks for them.
    case proxyAuthorization, proxyAuthenticate
    /// What a caller proves itself with; `martlet` is any `Martlet-*`.
    case authorization, martlet
    /// `Expect`.
    case expect
    /// `Forwarded`, `X-Forwarded-*`, `X-Real-IP`: what tells of the caller's address.
    case forwarding
    /// What a browser says of the page that a request comes from.
    case origin, secFetchSite
    /// What points into the upstream.
    case location, contentLocation, link
    /// The challenges of a 401.
    case wwwAuthenticate
    /// Nothing to us, but no `Connection` may name them.
    case contentType, contentEncoding, cookie, setCookie, via, date

    /// Recognizes a name by its length and bytes, without regard to case.
    init(_ name: ByteRange, in bytes: Span<UInt8>) {
        let (candidate, text): (KnownField, StaticString) =
            switch (name.count, bytes[name.lower].lowercased) {
            case (2, 0x74): (.te, "te")
            case (3, 0x76): (.via, "via")
            case (4, 0x68): (.host, "host")
            case (4, 0x6C): (.link, "link")
            case (4, 0x64): (.date, "date")
            case (6, 0x65): (.expect, "expect")
            case (6, 0x63): (.cookie, "cookie")
            case (6, 0x6F): (.origin, "origin")
            case (7, 0x75): (.upgrade, "upgrade")
            case (7, 0x74): (.trailer, "trailer")
            case (8, 0x6C): (.location, "location")
            case (9, 0x66): (.forwarding, "forwarded")
            case (9, 0x78): (.forwarding, "x-real-ip")
            case (10, 0x63): (.connection, "connection")
            case (10, 0x6B): (.keepAlive, "keep-alive")
            case (10, 0x73): (.setCookie, "set-cookie")
            case (12, 0x63): (.contentType, "content-type")
            case (13, 0x61): (.authorization, "authorization")
            case (14, 0x63): (.contentLength, "content-length")
            case (14, 0x68): (.http2Settings, "http2-settings")
            case (14, 0x73): (.secFetchSite, "sec-fetch-site")
            case (16, 0x63) where bytes[name.lower + 8].lowercased == 0x6C: (.contentLocation, "content-location")
            case (16, 0x63): (.contentEncoding, "content-encoding")
            case (16, 0x70): (.proxyConnection, "proxy-connection")
            case (16, 0x77): (.wwwAuthenticate, "www-authenticate")
            case (17, 0x74): (.transferEncoding, "transfer-encoding")
            case (18, 0x70): (.proxyAuthenticate, "proxy-authenticate")
            case (19, 0x70): (.proxyAuthorization, "proxy-authorization")
            default: (.other, "")
            }
        if candidate != .other, bytes.matches(name, text) {
            self = candidate
        } else if name.count >= 8, bytes.matches(ByteRange(name.lower, name.lower + 8), "martlet-") {
            self = .martlet
        } else if name.count >= 12, bytes.matches(ByteRange(name.lower, name.lower + 12), "x-forwarded-") {
            self = .forwarding
        } else {
            self = .other
        }
    }

    /// Fields of one connection only (RFC 9110 §7.6.1): they never pass. `Trailer` is none of them: it tells of the message.
    var isHopByHop: Bool {
        switch self {
        case .connection, .keepAlive, .proxyConnection, .te, .upgrade, .http2Settings, .transferEncoding,
            .proxyAuthorization, .proxyAuthenticate:
            true
        default: false
        }
    }

    /// Fields that a `Connection` field must not be able to take away.
    var isProtected: Bool {
        switch self {
        case .host, .contentLength, .transferEncoding, .authorization, .martlet, .expect, .contentType,
            .contentEncoding,
            .cookie, .setCookie, .via, .date, .location, .contentLocation, .wwwAuthenticate:
            true
        default: false
        }
    }

    /// Fields whose values may point into the upstream, so that callers could not follow them.
    var isTarget: Bool { self == .location || self == .contentLocation || self == .link }

    /// Whether a trailer of this name may go on: none that frames, routes or authenticates (RFC 9110 §6.5.1).
    var passesAsTrailer: Bool {
        !self.isHopByHop && !self.isProtected && self != .forwarding && self != .trailer
    }
}
