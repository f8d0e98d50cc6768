internal import Settings

/// A redirect URI on this machine (RFC 8252 §7.3): `http://`, a loopback host, a port or any, and a path.
package struct LoopbackRedirect: Equatable, Sendable {
    /// As in the URI: an IPv6 address has brackets.
    package let host: String
    /// `nil`: any port.
    package let port: Int?
    /// As in the URI; it may be empty.
    private let path: String

    /// The redirect URI that a provider has unless its configuration names another.
    package static let standard = LoopbackRedirect(host: "127.0.0.1", port: nil, path: "/callback")

    private init(host: String, port: Int?, path: String) {
        self.host = host
        self.port = port
        self.path = path
    }

    /// - Returns: `nil` for a URI of another form, also for one with a query.
    package init?(_ uri: String) {
        let scheme = "http://"
        guard uri.prefix(scheme.count).lowercased() == scheme, uri.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            !uri.contains(where: { "?#@\\".contains($0) })
        else { return nil }
        let rest = uri.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" }
        let host = AuthorityHost.host(of: authority)
        guard NetworkHost.isLoopback(host) else { return nil }
        let port = authority.dropFirst(host.count)
        if port.isEmpty {
            self.port = nil
        } else {
            guard port.hasPrefix(":"), port.dropFirst().allSatisfy({ $0.isASCII && $0.isNumber }),
                let number = UInt16(port.dropFirst()), number > 0
            else { return nil }
            self.port = Int(number)
        }
        self.host = host.lowercased()
        self.path = String(rest.dropFirst(authority.count))
    }

    /// The path of the request that a browser sends there.
    package var requestPath: String { self.path.isEmpty ? "/" : self.path }

    /// The URI with the port that listens.
    package func uri(port: Int) -> String { "http://\(self.host):\(port)\(self.path)" }

    /// The addresses to listen at. All but the first may be missing on a machine. A browser reads `localhost` as either
    /// (RFC 6761 §6.3).
    package var addresses: [String] {
        if self.host == "localhost" { return ["127.0.0.1", "::1"] }
        return [self.host.hasPrefix("[") ? String(self.host.dropFirst().dropLast()) : self.host]
    }
}
