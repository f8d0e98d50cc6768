/// The server that issued tokens. A refresh token is sent to this server only.
///
/// Several issuers may share a host, such as the realms or tenants of one server, so an origin does not identify an
/// issuer. Addresses have the form `scheme://host:port/path`, always with the port, and are compared character by
/// character.
package enum TokenIssuer: Hashable, Sendable {
    /// An issuer (RFC 8414 §2), which publishes its token endpoint; `tokenEndpoint` is `nil` until that is known.
    case issuer(String, tokenEndpoint: String?)
    /// A token endpoint (RFC 6749 §3.2) that the configuration names.
    case tokenEndpoint(String)
    /// `scheme://host:port` of either. Earlier versions stored nothing more.
    case origin(String)

    /// The relation to the issuer that the configuration names.
    package enum Match: Equatable, Sendable {
        case same
        /// The same issuer, which now names another token endpoint than before.
        case moved
        case other
    }

    /// Compares the issuer of a record with that of the configuration. A detail that one side does not know yet is no
    /// difference.
    package func match(_ configured: TokenIssuer) -> Match {
        switch (self, configured) {
        case (.issuer(let mine, let endpoint), .issuer(let theirs, let found)):
            guard mine == theirs else { return .other }
            return endpoint == nil || found == nil || endpoint == found ? .same : .moved
        // An earlier version sent the token wherever that issuer said. The current endpoint gets recorded and is
        // binding from then on.
        case (.origin(let origin), _): return configured.origin == origin ? .same : .other
        case (.tokenEndpoint, .tokenEndpoint): return self == configured ? .same : .other
        // The token goes to the same endpoint, whether the issuer or the configuration names it.
        case (.issuer(_, let endpoint?), .tokenEndpoint(let named)),
            (.tokenEndpoint(let named), .issuer(_, let endpoint?)):
            return endpoint == named ? .same : .other
        case (.tokenEndpoint, _), (.issuer, _): return .other
        }
    }

    /// Whether the token endpoint is known. No refresh token is sent while it is unknown.
    package var isSettled: Bool {
        switch self {
        case .issuer(_, let tokenEndpoint): tokenEndpoint != nil
        case .tokenEndpoint: true
        case .origin: false
        }
    }

    /// The configured issuer if it is the same one and its token endpoint is known; otherwise `self`.
    package func settled(by configured: TokenIssuer) -> TokenIssuer {
        configured.isSettled && self.match(configured) == .same ? configured : self
    }

    /// `scheme://host:port`. Earlier versions identify an issuer by it.
    package var origin: String {
        switch self {
        case .issuer(let address, _), .tokenEndpoint(let address): Self.origin(of: address)
        case .origin(let origin): origin
        }
    }

    private static func origin(of address: String) -> String {
        guard let authority = address.firstRange(of: "://")?.upperBound else { return address }
        return String(address[..<(address[authority...].firstIndex { $0 == "/" || $0 == "?" } ?? address.endIndex)])
    }
}

/// The text for operators. It omits query strings, since some configurations have a key in them.
extension TokenIssuer: CustomStringConvertible {
    package var description: String {
        func shown(_ address: String) -> Substring { address.prefix { $0 != "?" } }
        return switch self {
        case .issuer(let issuer, let endpoint?): "issuer \(shown(issuer)), token endpoint \(shown(endpoint))"
        case .issuer(let issuer, nil): "issuer \(shown(issuer))"
        case .tokenEndpoint(let endpoint), .origin(let endpoint): "token endpoint \(shown(endpoint))"
        }
    }
}
