/// A parsed `http` or `https` URL without user name, fragment and dot segments.
package struct HTTPURL: Hashable, Sendable {
    package enum Scheme: String, Sendable { case http, https }

    package let scheme: Scheme
    package let host: NetworkHost
    /// The port in the URL, or the default of 80 or 443.
    package let port: Int
    /// Begins with `/`; `/` if the URL has no path.
    package let path: String
    /// The text after the `?`.
    package let query: String?
    /// Exactly as written: issuers are compared character by character (RFC 8414 §3.3).
    package let text: String

    /// Whether a token sent to this URL crosses a network unencrypted.
    package var isCleartext: Bool { self.scheme == .http && !self.host.isLoopback }

    init(_ text: String) throws(ValueError) {
        let scheme: Scheme
        if text.lowercased().hasPrefix("https://") {
            scheme = .https
        } else if text.lowercased().hasPrefix("http://") {
            scheme = .http
        } else {
            throw ValueError("expected a URL with https:// or http://")
        }
        guard !text.contains("#") else { throw ValueError("must not have a fragment") }

        let rest = text.dropFirst(scheme.rawValue.count + 3)
        let target = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let (host, port) = try Self.splitAuthority(rest[..<target])
        let mark = rest[target...].firstIndex(of: "?") ?? rest.endIndex
        let path = rest[target..<mark]
        try Self.checkCharacters(rest[target...])
        try Self.checkSegments(path)

        self.scheme = scheme
        self.host = host
        self.port = port ?? (scheme == .https ? 443 : 80)
        self.path = path.isEmpty ? "/" : String(path)
        self.query = mark == rest.endIndex ? nil : String(rest[rest.index(after: mark)...])
        self.text = text
    }

    private static func splitAuthority(_ authority: Substring) throws(ValueError) -> (NetworkHost, port: Int?) {
        guard !authority.contains("@") else {
            throw ValueError("must not hold a user name or password")
        }
        // Colons within brackets belong to an IPv6 address.
        let begin = authority.hasPrefix("[") ? authority.lastIndex(of: "]") ?? authority.endIndex : authority.startIndex
        guard let colon = authority[begin...].firstIndex(of: ":") else {
            return (try NetworkHost(authority), nil)
        }
        let port = try PortNumber.parse(authority[authority.index(after: colon)...])
        guard port > 0 else { throw ValueError("has port 0") }
        return (try NetworkHost(authority[..<colon]), port)
    }

    private static func checkCharacters(_ target: Substring) throws(ValueError) {
        let bytes = Array(target.utf8)
        for (index, byte) in bytes.enumerated() where !byte.isPathCharacter && byte != 0x2F && byte != 0x3F {
            let digits = bytes[(index + 1)...].prefix(2)
            guard byte == 0x25, digits.count == 2, digits.allSatisfy({ $0.hexadecimalValue != nil }) else {
                throw ValueError("holds a character that must be percent-encoded")
            }
        }
    }

    private static func checkSegments(_ path: Substring) throws(ValueError) {
        for segment in path.utf8.split(separator: 0x2F) {
            let dots = String(decoding: segment, as: UTF8.self).lowercased().replacing("%2e", with: ".")
            guard dots != ".", dots != ".." else { throw ValueError("must not have . or .. as a segment") }
        }
    }
}

extension HTTPURL: CustomStringConvertible {
    /// As written, except for the query, which may hold secrets.
    package var description: String {
        self.query == nil ? self.text : self.text.prefix { $0 != "?" } + "?…"
    }
}
