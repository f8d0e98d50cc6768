/// Who issued tokens: the only one that a refresh token is sent to.
///
/// Several issuers may share a host, such as the realms or tenants of one server: an origin says too little. Addresses stand
/// in one form, `scheme://host:port/path`, with the port always written, and are compared letter by letter.
package enum TokenIssuer: Hashable, Sendable {
    /// An issuer (RFC 8414 §2), which says itself where its token endpoint is; `nil` until it has.
    case issuer(String, tokenEndpoint: String?)
    /// A token endpoint (RFC 6749 §3.2) that the configuration names.
    case tokenEndpoint(String)
    /// `scheme://host:port` of either: all that earlier versions wrote down.
    case origin(String)

    /// How it stands to the one that the configuration names.
    package enum Match: Equatable, Sendable {
        case same
        /// The same issuer, which names another token endpoint than it did.
        case moved
        case other
    }

    /// Compares the issuer of a record with that of the configuration. What one of them does not say yet does not part them.
    package func match(_ configured: TokenIssuer) -> Match {
        switch (self, configured) {
        case (.issuer(let mine, let endpoint), .issuer(let theirs, let found)):
            guard mine == theirs else { return .other }
            return endpoint == nil || found == nil || endpoint == found ? .same : .moved
        // An earlier version sent it wherever that issuer said: what it says now is written down, and holds from then on.
        case (.origin(let origin), _): return configured.origin == origin ? .same : .other
        case (.tokenEndpoint, .tokenEndpoint): return self == configured ? .same : .other
        // Whether an issuer or the configuration names it, the token goes to the same place.
        case (.issuer(_, let endpoint?), .tokenEndpoint(let named)),
            (.tokenEndpoint(let named), .issuer(_, let endpoint?)):
            return endpoint == named ? .same : .other
        case (.tokenEndpoint, _), (.issuer, _): return .other
        }
    }

    /// Whether it says where its token endpoint is: nothing is sent by one that does not.
    package var isSettled: Bool {
        switch self {
        case .issuer(_, let tokenEndpoint): tokenEndpoint != nil
        case .tokenEndpoint: true
        case .origin: false
        }
    }

    /// This one with what the configuration says beyond it, where both are the same.
    package func settled(by configured: TokenIssuer) -> TokenIssuer {
        configured.isSettled && self.match(configured) == .same ? configured : self
    }

    /// `scheme://host:port`, which earlier versions go by.
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

/// For operators: without queries, in which some write a key.
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
