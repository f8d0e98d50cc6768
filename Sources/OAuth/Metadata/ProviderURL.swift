internal import TextCoding

/// The URL of a provider to which tokens may be sent: `https`, or `http` if that is allowed.
///
/// Deliberately narrower than RFC 3986: every parser understands an accepted URL in the same way.
package struct ProviderURL: Hashable, Sendable {
    /// The URL as it was written.
    package let text: String
    /// `scheme://host:port` in lower case. The port is always included.
    package let origin: String
    /// The URL for logs: without the query, in which some people put a key.
    package var withoutQuery: String { self.origin + self.path }
    /// The identity of an endpoint: the same for all spellings of host and port.
    package var endpointID: String {
        self.origin + (self.path.isEmpty ? "/" : self.path) + (self.query.map { "?" + $0 } ?? "")
    }
    /// The identity of an issuer, which includes a slash at its end (RFC 8414 §3.3).
    package var issuerID: String { self.origin + self.path }
    /// Whether the scheme is `https`.
    package let isEncrypted: Bool
    /// The path, from the first `/` to before the `?`; may be empty.
    let path: String
    /// The query after the `?`; `nil` if there is no `?`.
    let query: String?

    /// - Parameter allowCleartext: Accepts `http` for any host. Otherwise it is accepted only for loopback.
    package init(_ text: String, allowCleartext: Bool = false) throws(ProviderURLError) {
        guard text.utf8.count <= 2048, text.utf8.allSatisfy(Self.mayStand) else {
            throw ProviderURLError(.malformed, "the address has characters that have no place in a URL")
        }
        let afterScheme: Substring
        let scheme: String
        switch text.prefix(8).lowercased() {
        case "https://": (scheme, afterScheme) = ("https", text.dropFirst(8))
        case let start where start.hasPrefix("http://"): (scheme, afterScheme) = ("http", text.dropFirst(7))
        default: throw ProviderURLError(.malformed, "the address begins neither with https:// nor with http://")
        }
        guard Self.escapesAreWhole(afterScheme) else {
            throw ProviderURLError(.malformed, "the address has a % that is not followed by two hexadecimal digits")
        }

        let authority = afterScheme.prefix { $0 != "/" && $0 != "?" }
        let rest = afterScheme.dropFirst(authority.count)
        let (host, port) = try Self.split(authority)
        let path = rest.prefix { $0 != "?" }
        guard !rest.contains("["), !rest.contains("]") else {
            throw ProviderURLError(.malformed, "the address has brackets after its host")
        }

        self.text = text
        self.isEncrypted = scheme == "https"
        self.origin = "\(scheme)://\(host):\(port ?? (scheme == "https" ? 443 : 80))"
        self.path = String(path)
        self.query = path.count < rest.count ? String(rest.dropFirst(path.count + 1)) : nil

        guard self.isEncrypted || allowCleartext || Self.isLoopback(host) else {
            throw ProviderURLError(.cleartext, "http to \(host) would send tokens in the clear: use https")
        }
    }

    /// Printable ASCII except for what RFC 3986 leaves out, and without fragments.
    private static func mayStand(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !"\"#<>\\^`{|}".utf8.contains(byte)
    }

    private static func escapesAreWhole(_ text: Substring) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.indices.allSatisfy { index in
            bytes[index] != UInt8(ascii: "%")
                || index + 2 < bytes.count && HexDigit.value(bytes[index + 1]) != nil
                    && HexDigit.value(bytes[index + 2]) != nil
        }
    }

    /// The host in lower case and the port.
    private static func split(_ authority: Substring) throws(ProviderURLError) -> (host: String, port: UInt16?) {
        let isAddress = authority.first == "["
        let host: Substring
        if isAddress {
            guard let end = authority.firstIndex(of: "]") else {
                throw ProviderURLError(.malformed, "the address has a [ without a ]")
            }
            host = authority[...end]
        } else {
            host = authority.prefix { $0 != ":" }
        }
        let inner = isAddress ? host.dropFirst().dropLast() : host
        guard !inner.isEmpty, inner.utf8.allSatisfy(isAddress ? Self.mayStandInAddress : Self.mayStandInName) else {
            throw ProviderURLError(.malformed, "the address has a user name, or its host is missing or invalid")
        }

        let afterHost = authority.dropFirst(host.count)
        if afterHost.isEmpty { return (host.lowercased(), nil) }
        guard afterHost.first == ":", afterHost.dropFirst().utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(afterHost.dropFirst()), port > 0
        else { throw ProviderURLError(.malformed, "the address has a port that is not between 1 and 65535") }
        return (host.lowercased(), port)
    }

    private static func mayStandInName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func mayStandInAddress(_ byte: UInt8) -> Bool {
        HexDigit.value(byte) != nil || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
    }

    /// `localhost`, `127.0.0.0/8` in its usual writing, or `::1`.
    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { (1...3).contains($0.utf8.count) && UInt8($0) != nil && !$0.hasPrefix("+") }
    }
}

/// An authorization server by its issuer identifier (RFC 8414 §2), from which its metadata address follows.
package struct ProviderIssuer: Hashable, Sendable {
    /// The identifier as it was written. It is compared exactly (RFC 8414 §3.3).
    package let url: ProviderURL

    /// - Throws: ``ProviderURLError`` as ``ProviderURL`` does, and for a query, which an issuer must not have.
    package init(_ text: String, allowCleartext: Bool = false) throws(ProviderURLError) {
        let url = try ProviderURL(text, allowCleartext: allowCleartext)
        guard url.query == nil else { throw ProviderURLError(.malformed, "an issuer has no query") }
        self.url = url
    }

    /// The metadata URLs in the order to try them: first that of RFC 8414 §3.1, with the well-known part before the
    /// issuer's path, then that of OpenID Connect Discovery 1.0 §4, with it after the path.
    package var metadataAddresses: [String] {
        let start = self.url.text.dropLast(self.url.path.count)
        let path = self.url.path.hasSuffix("/") ? self.url.path.dropLast() : Substring(self.url.path)
        return [
            "\(start)/.well-known/oauth-authorization-server\(path)",
            "\(start)\(path)/.well-known/openid-configuration",
        ]
    }
}

/// Why a URL can't be used for a provider. Two errors are equal if their codes are equal.
package struct ProviderURLError: Error, Sendable {
    /// The kind of error.
    package enum Code: Sendable, CaseIterable {
        /// Not an absolute `https` or `http` URL, or with parts that a URL can't have.
        case malformed
        /// `http` to a host that is not loopback, so that tokens would be sent in cleartext.
        case cleartext
    }

    /// The kind of error, which decides equality.
    package let code: Code
    /// For the operator: what is wrong and what would help.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ProviderURLError: Equatable {
    package static func == (left: ProviderURLError, right: ProviderURLError) -> Bool { left.code == right.code }
}
