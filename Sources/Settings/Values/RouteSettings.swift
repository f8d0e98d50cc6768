package import JSONText
package import TokenModel

/// Which requests go to which upstream with which account.
package struct RouteSettings: Equatable, Sendable {
    package let name: String
    package let match: RouteMatch
    /// Where they go: without a query, its path in ``RouteMatch/path``'s form.
    package let upstream: HTTPURL
    package let account: RouteAccount
    /// Whether the matched path is cut off before the upstream's is put in its place.
    package let strip: Bool
    package let injection: InjectionSettings
    /// The largest body that is kept to be sent again after a dead token, in bytes; 0: none.
    package let replayBodyLimit: Int
    /// What says that a token is dead, besides a 401 that does.
    package let retryOn: [RetrySign]
    package let timeouts: RouteTimeouts
    /// Connections to the upstream per event loop.
    package let maximumConnections: Int
    /// Whether `Via: 1.1 martlet` is added (RFC 9110 §7.6.3).
    package let via: Bool
    /// Whether `Cookie` and `Set-Cookie` pass.
    package let passesCookies: Bool
    package let forwarded: ForwardedFields
    /// Of use where the upstream is one with `https://`.
    package let upstreamTLS: UpstreamTLSSettings
    package let expect: ExpectationMode
}

/// What becomes of `Forwarded` (RFC 7239) and its older kin.
package enum ForwardedFields: String, CaseIterable, Sendable {
    /// They stay here.
    case drop
    /// They go on, extended by the caller's address, scheme and host.
    case append
}

/// Whether the gateway asks an upstream before it sends a large body (`Expect: 100-continue`, RFC 9110 §10.1.1).
package enum ExpectationMode: String, Sendable, CaseIterable {
    /// Where a dead token would cost the upload, and the upstream is not known to dislike it.
    case auto
    /// Not at all, on this route.
    case never
}

/// The field that carries the token to the upstream.
package struct InjectionSettings: Equatable, Sendable {
    /// A field name, as written.
    package let header: String
    /// What stands before the token, with the space if there is to be one.
    package let prefix: String
}

/// Which requests a route takes.
package struct RouteMatch: Hashable, Sendable {
    /// Whole segments with `/` at both ends, in normal form: equal paths are equal texts. Percent-encoded.
    package let path: String
    /// In lower case, without a port, an IPv6 address in brackets; `nil`: any host.
    package let host: String?
}

/// An answer that says that a token is dead, besides the 401 that does.
package struct RetrySign: Hashable, Sendable {
    package let status: Int
    /// What its body must hold; `nil`: nothing.
    package let json: JSONPattern?
}

/// How long an upstream may take.
package struct RouteTimeouts: Equatable, Sendable {
    /// For a connection to stand, and for a place in the pool's queue.
    package let connect: Duration
    /// From the request's end to the answer's head.
    package let response: Duration
    /// Between two reads or writes of a body.
    package let idle: Duration
}

/// Whose token a route's requests get.
package enum RouteAccount: Equatable, Sendable {
    case fixed(AccountID)
    /// Of the account that the request names in ``headerName``, which its caller must be let use.
    case fromHeader

    /// The only field for it: as with all of that prefix, no request takes it upstream.
    package static let headerName = "Martlet-Account"
}
