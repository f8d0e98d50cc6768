package import ProviderClient
package import TokenModel

/// What the configuration says about sign-ins, as of the last reload.
package struct SignInConfiguration: Sendable {
    /// Where the gateway's own listener takes answers, such as `https://martlet.example/login/callback`; `nil` if there is
    /// no listener.
    package let gatewayRedirectURI: String?
    /// Those that somebody can sign in at for an account.
    package let providers: [ProviderID: Provider]

    package init(gatewayRedirectURI: String?, providers: [ProviderID: Provider]) {
        self.gatewayRedirectURI = gatewayRedirectURI
        self.providers = providers
    }

    /// How somebody signs in at one provider.
    package struct Provider: Sendable {
        package let server: any AuthorizationServer
        /// Requested beside those of the account.
        package let scopes: [String]
        /// `prompt` of the request (OpenID Connect Core §3.1.2.1); `nil` for none.
        package let prompt: String?
        /// Where answers come to that do not come to the gateway.
        package let redirectURI: String
        /// Further parameters of the request.
        package let extra: [String: String]
        /// Whether the revocation of one token ends all grants that the user has given this client, so that tokens of a
        /// sign-in that failed are better left to expire.
        package let revokesWidely: Bool

        package init(
            server: any AuthorizationServer,
            scopes: [String] = [],
            prompt: String? = nil,
            redirectURI: String = "http://127.0.0.1/callback",
            extra: [String: String] = [:],
            revokesWidely: Bool = false
        ) {
            self.server = server
            self.scopes = scopes
            self.prompt = prompt
            self.redirectURI = redirectURI
            self.extra = extra
            self.revokesWidely = revokesWidely
        }
    }
}

extension SignInConfiguration {
    /// The scopes to request for an account with these scopes: each once, in order.
    static func scopes(_ account: [String], and provider: [String]) -> [String] {
        var scopes: [String] = []
        for scope in account + provider where !scopes.contains(scope) { scopes.append(scope) }
        return scopes
    }

    /// Where the answer comes to.
    ///
    /// - Parameter requested: the redirect URI that the command listens on.
    func redirectURI(
        of provider: ProviderID,
        _ way: SignInWay,
        requested: String?
    ) throws(SignInError) -> String {
        let configured = self.providers[provider]?.redirectURI ?? ""
        switch way {
        case .device:
            guard requested == nil else { throw Self.unwanted(way) }
            return ""
        case .paste:
            guard requested == nil else { throw Self.unwanted(way) }
            return configured
        case .gateway:
            guard requested == nil else { throw Self.unwanted(way) }
            guard let gateway = self.gatewayRedirectURI else {
                throw SignInError(
                    .conflict,
                    "the gateway has no listener for sign-ins: the configuration's login section names its address, and takes a restart"
                )
            }
            // A provider may have one of its own at the same listener.
            return Self.isServed(configured, beside: gateway) ? configured : gateway
        case .loopback:
            guard let requested, Self.fits(requested, configured) else {
                throw SignInError(
                    .invalidRedirectURI,
                    "redirect_uri does not fit the one that is configured for provider \(provider), \(configured)"
                        + (RedirectTarget(configured)?.isLoopback == true
                            ? ", where no port means any" : ", which is not on loopback: paste the address by hand"),
                    expected: configured
                )
            }
            return requested
        }
    }

    private static func unwanted(_ way: SignInWay) -> SignInError {
        SignInError(.invalidRedirectURI, "redirect_uri is for way \"loopback\" only, and not for \"\(way.rawValue)\"")
    }

    /// The other providers whose answers come to the same place, as far as can be told from it. Another client of the same
    /// issuer is no other provider: nobody's code comes into the wrong hands there.
    func sharers(of redirectURI: String, with provider: ProviderID, _ way: SignInWay) -> [ProviderID] {
        let issuer = self.providers[provider]?.server.binding.issuer
        return self.providers.keys.filter { other in
            guard other != provider, let theirs = self.providers[other]?.server.binding.issuer,
                issuer.map({ $0.match(theirs) }) != .same,
                let place = try? self.redirectURI(of: other, way == .loopback ? .paste : way, requested: nil)
            else { return false }
            return way == .loopback
                ? Self.fits(redirectURI, place) : RedirectTarget(place) == RedirectTarget(redirectURI)
        }.sorted()
    }

    /// Whether `requested` is the configured redirect URI, with any port if that names none (RFC 8252 §7.3).
    private static func fits(_ requested: String, _ configured: String) -> Bool {
        guard let requested = RedirectTarget(requested), let configured = RedirectTarget(configured),
            configured.isLoopback
        else { return false }
        return requested.scheme == configured.scheme && requested.host == configured.host
            && requested.path == configured.path && (!configured.hasPort || requested.port == configured.port)
    }

    /// Whether the gateway's listener takes the answers that come to `redirectURI`.
    private static func isServed(_ redirectURI: String, beside gateway: String) -> Bool {
        guard let own = RedirectTarget(redirectURI), let gateway = RedirectTarget(gateway) else { return false }
        return own.scheme == gateway.scheme && own.host == gateway.host && own.port == gateway.port
            && own.path.hasPrefix("/login/") && !own.path.hasPrefix("/login/start")
            && !own.path.hasPrefix("/login/done")
    }
}

/// The parts of a redirect URI. The configuration has checked it.
struct RedirectTarget: Equatable, Sendable {
    let scheme: String
    let host: String
    /// The default of the scheme if the URI names none.
    let port: UInt16
    let path: String
    let hasPort: Bool

    init?(_ uri: String) {
        guard let schemeEnd = uri.firstRange(of: "://"), !uri.contains("?"), !uri.contains("#") else { return nil }
        self.scheme = uri[..<schemeEnd.lowerBound].lowercased()
        let rest = uri[schemeEnd.upperBound...]
        let authority = rest.prefix { $0 != "/" }
        self.path = rest.count == authority.count ? "/" : String(rest.dropFirst(authority.count))
        let host = authority.hasPrefix("[") ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
        let port = authority.dropFirst(host.count)
        self.host = host.lowercased()
        self.hasPort = !port.isEmpty
        guard self.hasPort else {
            self.port = self.scheme == "https" ? 443 : 80
            return
        }
        guard port.hasPrefix(":"), let number = UInt16(port.dropFirst()), number > 0 else { return nil }
        self.port = number
    }

    /// Compares the places: a default port may be left out.
    static func == (left: RedirectTarget, right: RedirectTarget) -> Bool {
        (left.scheme, left.host, left.port, left.path) == (right.scheme, right.host, right.port, right.path)
    }

    /// Whether only this machine's users can reach it.
    var isLoopback: Bool { self.scheme == "http" && ["127.0.0.1", "[::1]", "localhost"].contains(self.host) }
}
