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
