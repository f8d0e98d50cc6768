/// A short word for the reason of a verdict: the provider's own `error` code, or one of Martlet's.
///
/// It has 1 to 64 characters of `[a-z_.-]`, so that it may be logged, stored and shown. Anything else that a provider
/// writes into `error` or `error_description` is not used, because some providers print tokens there.
package struct VerdictReason: Hashable, Sendable {
    /// The word itself.
    package let rawValue: String

    /// Uses a provider's code (RFC 6749 §5.2); `nil` if it has other characters or another length than the above.
    package init?(code: some Collection<UInt8>) {
        guard (1...64).contains(code.count), code.allSatisfy(Self.isCodeLetter) else { return nil }
        self.rawValue = String(decoding: code, as: UTF8.self)
    }

    /// Uses a stored or configured code; `nil` if it has other characters or another length than the above.
    package init?(_ code: String) {
        self.init(code: Array(code.utf8))
    }

    private init(ours code: StaticString) {
        self.rawValue = code.description
    }

    private static func isCodeLetter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"): true
        default: false
        }
    }
}

extension VerdictReason: CustomStringConvertible {
    package var description: String { self.rawValue }
}

/// Martlet's own reasons, if the provider gave none that can be used.
extension VerdictReason {
    /// An error response without a usable code.
    package static let noKnownReason = VerdictReason(ours: "no_known_reason")
    /// A redirect. It is never followed, because it would carry the token to another server.
    package static let redirected = VerdictReason(ours: "redirected")
    /// A 429 response without a code.
    package static let tooManyRequests = VerdictReason(ours: "too_many_requests")
    /// A 5xx response without a code.
    package static let serverError = VerdictReason(ours: "server_error")

    /// A response without a body.
    package static let answerEmpty = VerdictReason(ours: "answer_empty")
    /// The response ended before its announced length, or the connection broke within it.
    package static let answerCutShort = VerdictReason(ours: "answer_cut_short")
    /// The response is larger or nested deeper than any real one.
    package static let answerTooLarge = VerdictReason(ours: "answer_too_large")
    /// The response is compressed although the request did not allow it.
    package static let answerCompressed = VerdictReason(ours: "answer_compressed")
    /// The response is an HTML page, such as a proxy or a firewall sends.
    package static let answerHTML = VerdictReason(ours: "html")
    /// The response is neither JSON nor a form, or its fields have the wrong types.
    package static let answerUnreadable = VerdictReason(ours: "answer_unreadable")
    /// The access token can't be put into a header field: it is empty, or has a space, control or non-ASCII character.
    package static let accessTokenUnusable = VerdictReason(ours: "access_token_unusable")
    /// The token is not a bearer token (RFC 6750).
    package static let tokenTypeUnknown = VerdictReason(ours: "token_type_unknown")

    /// The provider's host has no address.
    package static let nameUnresolved = VerdictReason(ours: "name_unresolved")
    /// No connection to the provider's host.
    package static let connectFailed = VerdictReason(ours: "connect_failed")
    /// No TLS connection, or the certificate is not trusted for that name.
    package static let tlsFailed = VerdictReason(ours: "tls_failed")
    /// No response within the time for the whole exchange.
    package static let timedOut = VerdictReason(ours: "timed_out")
    /// The connection broke after the request was handed over.
    package static let connectionLost = VerdictReason(ours: "connection_lost")
    /// The response was not HTTP.
    package static let answerNotHTTP = VerdictReason(ours: "answer_not_http")
    /// The right to send ended before the connection was established.
    package static let sendingTooLate = VerdictReason(ours: "sending_too_late")
    /// The provider's metadata (RFC 8414) can't be fetched, so its endpoints are unknown.
    package static let discoveryFailed = VerdictReason(ours: "discovery_failed")
    /// The issuer names another token endpoint than the one that issued the token.
    package static let endpointMoved = VerdictReason(ours: "endpoint_moved")
    /// The assertion that the request needs could not be signed.
    package static let signingFailed = VerdictReason(ours: "signing_failed")
    /// The provider, or the client that the token was issued for, is no longer configured. No request is made.
    package static let notConfigured = VerdictReason(ours: "not_configured")
    /// The provider has not yet revoked the token. Martlet keeps trying by itself.
    package static let waiting = VerdictReason(ours: "waiting")
    /// The client was shut down.
    package static let shutDown = VerdictReason(ours: "shut_down")
}
