package import TextCoding
package import TokenModel

/// Which requests go to which upstream, and with which account.
package struct RouteSettings: Equatable, Sendable {
    package let name: String
    package let match: RouteMatch
    /// The upstream's URL: without a query, and with a path in the form of ``RouteMatch/path``.
    package let upstream: HTTPURL
    package let account: RouteAccount
    /// Whether the matched path is removed before the upstream's path is prepended.
    package let strip: Bool
    package let injection: InjectionSettings
    /// The size of the largest body kept for a replay after a dead token, in bytes; 0: none.
    package let replayBodyLimit: Int
    /// The responses, besides a 401, that mean that a token is dead.
    package let retryOn: [RetrySign]
    package let timeouts: RouteTimeouts
    /// The maximum number of connections to the upstream per event loop.
    package let maximumConnections: Int
    /// How long a connection to the upstream is used, give or take a tenth.
    package let connectionAge: Duration
    /// Whether `Via: 1.1 martlet (WORD)` is added (RFC 9110 §7.6.3).
    package let via: Bool
    /// Whether `Cookie` and `Set-Cookie` are forwarded.
    package let passesCookies: Bool
    package let forwarded: ForwardedFields
    /// Used only if the upstream has `https://`.
    package let upstreamTLS: UpstreamTLSSettings
    package let expect: ExpectationMode
    /// `nil`: no response is stored.
    package let cache: CacheSettings?
}

/// How `Forwarded` (RFC 7239) and the older `X-Forwarded-*` fields are handled.
package enum ForwardedFields: String, CaseIterable, Sendable {
    /// They are removed.
    case drop
    /// They are forwarded with the caller's address, scheme and host appended.
    case append
}

/// Whether the gateway asks an upstream before it sends a large body (`Expect: 100-continue`, RFC 9110 §10.1.1).
package enum ExpectationMode: String, Sendable, CaseIterable {
    /// If a dead token would cost the whole upload, and the upstream is not known to reject the expectation.
    case auto
    /// Never on this route.
    case never
}

/// The field that carries the token to the upstream.
package struct InjectionSettings: Equatable, Sendable {
    /// The field name, as written.
    package let header: String
    /// The text before the token, including the space if there is one.
    package let prefix: String
}

/// Which requests a route takes.
package struct RouteMatch: Hashable, Sendable {
    /// Percent-encoded, with whole segments and `/` at both ends, in normal form: equal paths are equal texts.
    package let path: String
    /// In lower case, without a port, with an IPv6 address in brackets; `nil`: any host.
    package let host: String?
}

/// A response, besides a 401, that means that a token is dead.
package struct RetrySign: Hashable, Sendable {
    package let status: Int
    /// What its body must contain; `nil`: anything.
    package let json: JSONPattern?
}

/// The time limits for an upstream.
package struct RouteTimeouts: Equatable, Sendable {
    /// For connecting, and for waiting in the connection pool's queue.
    package let connect: Duration
    /// From the request's end to the response's head.
    package let response: Duration
    /// Between two reads or writes of a body.
    package let idle: Duration
}

/// The account whose token a route's requests get.
package enum RouteAccount: Equatable, Sendable {
    case fixed(AccountID)
    /// The account that the request names in ``headerName``. The caller must be allowed to use it.
    case fromHeader

    /// The only field for the choice. Like all fields with this prefix, it is never forwarded to the upstream.
    package static let headerName = "Martlet-Account"
}
