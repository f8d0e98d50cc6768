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
        let (candidate, text) = Self.candidate(name, in: bytes)
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

    /// The one field that a name of this length and first letter can be. By length first: a switch over both would compare
    /// each of its rows.
    private static func candidate(_ name: ByteRange, in bytes: Span<UInt8>) -> (KnownField, StaticString) {
        let first = bytes[name.lower].lowercased
        return switch name.count {
        case 2 where first == 0x74: (.te, "te")
        case 3 where first == 0x76: (.via, "via")
        case 4:
            switch first {
            case 0x68: (.host, "host")
            case 0x6C: (.link, "link")
            case 0x64: (.date, "date")
            default: (.other, "")
            }
        case 6:
            switch first {
            case 0x65: (.expect, "expect")
            case 0x63: (.cookie, "cookie")
            case 0x6F: (.origin, "origin")
            default: (.other, "")
            }
        case 7: first == 0x75 ? (.upgrade, "upgrade") : (.trailer, "trailer")
        case 8: (.location, "location")
        case 9: first == 0x66 ? (.forwarding, "forwarded") : (.forwarding, "x-real-ip")
        case 10:
            switch first {
            case 0x63: (.connection, "connection")
            case 0x6B: (.keepAlive, "keep-alive")
            case 0x73: (.setCookie, "set-cookie")
            default: (.other, "")
            }
        case 12: (.contentType, "content-type")
        case 13: (.authorization, "authorization")
        case 14:
            switch first {
            case 0x63: (.contentLength, "content-length")
            case 0x68: (.http2Settings, "http2-settings")
            case 0x73: (.secFetchSite, "sec-fetch-site")
            default: (.other, "")
            }
        case 16:
            switch first {
            case 0x63 where bytes[name.lower + 8].lowercased == 0x6C: (.contentLocation, "content-location")
            case 0x63: (.contentEncoding, "content-encoding")
            case 0x70: (.proxyConnection, "proxy-connection")
            case 0x77: (.wwwAuthenticate, "www-authenticate")
            default: (.other, "")
            }
        case 17: (.transferEncoding, "transfer-encoding")
        case 18: (.proxyAuthenticate, "proxy-authenticate")
        case 19: (.proxyAuthorization, "proxy-authorization")
        default: (.other, "")
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
