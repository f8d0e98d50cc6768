/// A redirection endpoint (RFC 6749 §3.1.2): where the browser goes when a person has signed in.
///
/// An `http` or `https` URL without query and fragment. It is `http` only on loopback, since the authorization code is
/// in the request that the browser sends there.
package struct RedirectURI: Hashable, Sendable {
    package let scheme: HTTPURL.Scheme
    package let host: NetworkHost
    /// The port in the URI, or the default of 80 or 443.
    package let port: Int
    /// Whether the URI names a port.
    package let hasPort: Bool
    /// Begins with `/`; `/` if the URI has no path.
    package let path: String
    /// Exactly as written: a provider compares it with the registered one character by character (RFC 9700 §2.1).
    package let text: String

    /// The default of a provider: any port of loopback, where the command that signs in listens.
    package static let standard = RedirectURI(loopbackPath: "/callback")

    /// The forms of loopback that a command can listen on.
    private static let loopbackHosts: Set<String> = ["127.0.0.1", "::1", "localhost"]

    /// Whether a command on the operator's machine can listen there (RFC 8252 §7.3).
    package var isLoopback: Bool { self.scheme == .http && Self.loopbackHosts.contains(self.host.text) }

    /// The `Host` field of a request that the browser sends there (RFC 9110 §7.2).
    package var authority: String {
        let standard = self.scheme == .https ? 443 : 80
        return self.port == standard ? self.host.authority : "\(self.host.authority):\(self.port)"
    }

    package init(_ text: String) throws(ValueError) {
        let url = try HTTPURL(text)
        guard url.query == nil else { throw ValueError("must not have a query") }
        self.scheme = url.scheme
        self.host = url.host
        self.port = url.port
        self.path = url.path
        self.text = text
        let authority = text.dropFirst(url.scheme.rawValue.count + 3).prefix { $0 != "/" }
        // The brackets of an IPv6 address hold colons of their own.
        self.hasPort = (url.host.kind == .ipv6 ? authority.drop { $0 != "]" } : authority).contains(":")
        guard url.scheme == .https || self.isLoopback else {
            throw ValueError(
                "must be https://, or http:// on 127.0.0.1, [::1] or localhost: the code of a sign-in arrives there"
            )
        }
    }

    /// `http` on `127.0.0.1`, without a port.
    private init(loopbackPath path: String) {
        self.scheme = .http
        self.host = .loopback
        self.port = 80
        self.hasPort = false
        self.path = path
        self.text = "http://\(self.host.authority)\(path)"
    }

    /// Whether both are on the same scheme, host and port (RFC 6454 §4).
    package func hasOrigin(of other: RedirectURI) -> Bool {
        self.scheme == other.scheme && self.host == other.host && self.port == other.port
    }

    /// Whether `used` may stand for this URI in a request: it is the same, or this URI is on loopback without a port,
    /// and `used` has one in addition (RFC 8252 §7.3).
    package func admits(_ used: RedirectURI) -> Bool {
        guard self.isLoopback, !self.hasPort else { return used.text == self.text }
        return used.isLoopback && used.host == self.host && used.path == self.path
    }
}

extension RedirectURI: CustomStringConvertible {
    package var description: String { self.text }
}
