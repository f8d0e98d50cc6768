/// What browsers know the listener by: the configured redirect URI. A proxy may stand in front of the listener, so the
/// listening socket says nothing about it.
struct LoginSite: Sendable {
    /// Whether browsers reach the site over TLS.
    let isSecure: Bool
    /// The path of the configured redirect URI.
    let path: String
    /// As in the redirect URI.
    private let origin: String
    /// In lower case and without the scheme's default port.
    private let authority: String

    /// - Returns: `nil` for anything but an address whose path begins with `/login/`.
    init?(redirectURI: String) {
        guard let separator = redirectURI.firstRange(of: "://") else { return nil }
        let scheme = redirectURI[..<separator.lowerBound].lowercased()
        guard scheme == "https" || scheme == "http" else { return nil }
        let path = redirectURI[separator.upperBound...].drop { $0 != "/" }
        let authority = redirectURI[separator.upperBound..<path.startIndex]
        guard path.hasPrefix("/login/"), !authority.isEmpty, !authority.contains("@") else { return nil }
        self.isSecure = scheme == "https"
        self.path = String(path)
        self.origin = String(redirectURI[..<path.startIndex])
        self.authority = Self.normalized(authority, isSecure: scheme == "https")
    }

    /// Whether a request with this `Host` was meant for this site. A page whose own name was made to resolve to this
    /// machine (DNS rebinding) sends its own name.
    func isNamed(by host: String?) -> Bool {
        host.map { Self.normalized($0[...], isSecure: self.isSecure) == self.authority } ?? false
    }

    /// The address of a path on this site, as it would stand in a redirect URI.
    func address(of path: Substring) -> String { self.origin + path }

    private static func normalized(_ authority: Substring, isSecure: Bool) -> String {
        let authority = authority.lowercased()
        let standard = isSecure ? ":443" : ":80"
        // In brackets, an IPv6 address may end in ":80" itself.
        guard authority.hasSuffix(standard), !authority.hasPrefix("[") || authority.contains("]:") else {
            return authority
        }
        return String(authority.dropLast(standard.count))
    }
}
