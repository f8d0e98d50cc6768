/// One short word for why a provider's answer was judged as it was: the provider's own `error` code, or one of ours.
///
/// Made only of `[a-z_.-]`, 1 to 64 of them, so that it may be logged, stored and shown: whatever else a provider
/// writes into `error` or `error_description` (some print tokens there) is not taken over.
package struct VerdictReason: Hashable, Sendable {
    /// The word itself.
    package let rawValue: String

    /// Takes over a provider's code (RFC 6749 §5.2); `nil` unless it has only the letters above.
    package init?(code: some Collection<UInt8>) {
        guard (1...64).contains(code.count), code.allSatisfy(Self.isCodeLetter) else { return nil }
        self.rawValue = String(decoding: code, as: UTF8.self)
    }

    /// Takes over a stored or configured code; `nil` unless it has only the letters above.
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

/// Reasons of ours, where the provider gave none that can be named.
extension VerdictReason {
    /// An error answer without a code that may be taken over.
    package static let noKnownReason = VerdictReason(ours: "no_known_reason")
    /// A redirect, which is never followed: it would carry the token to somebody else.
    package static let redirected = VerdictReason(ours: "redirected")
    /// A 429 answer without a code.
    package static let tooManyRequests = VerdictReason(ours: "too_many_requests")
    /// A 5xx answer without a code.
    package static let serverError = VerdictReason(ours: "server_error")

    /// An answer without a body.
    package static let answerEmpty = VerdictReason(ours: "answer_empty")
    /// The answer ended before its length, or the connection broke within it.
    package static let answerCutShort = VerdictReason(ours: "answer_cut_short")
    /// The answer is larger or nested deeper than any honest one.
    package static let answerTooLarge = VerdictReason(ours: "answer_too_large")
    /// The answer is compressed, though we asked for none of it.
    package static let answerCompressed = VerdictReason(ours: "answer_compressed")
    /// The answer is a page for people, such as a proxy or a firewall writes.
    package static let answerHTML = VerdictReason(ours: "html")
    /// The answer is neither JSON nor a form, or its fields are of the wrong kind.
    package static let answerUnreadable = VerdictReason(ours: "answer_unreadable")
    /// The access token can't stand in a header field: empty, or with a space, control or non-ASCII character.
    package static let accessTokenUnusable = VerdictReason(ours: "access_token_unusable")
    /// The token is to be used in another way than as a bearer token (RFC 6750).
    package static let tokenTypeUnknown = VerdictReason(ours: "token_type_unknown")

    /// The provider's host has no address.
    package static let nameUnresolved = VerdictReason(ours: "name_unresolved")
    /// No connection to the provider's host.
    package static let connectFailed = VerdictReason(ours: "connect_failed")
    /// No TLS connection, or the certificate is not one we trust for that name.
    package static let tlsFailed = VerdictReason(ours: "tls_failed")
    /// No answer within the time for the whole exchange.
    package static let timedOut = VerdictReason(ours: "timed_out")
    /// The connection broke after the request had been handed over.
    package static let connectionLost = VerdictReason(ours: "connection_lost")
    /// The answer was not HTTP.
    package static let answerNotHTTP = VerdictReason(ours: "answer_not_http")
    /// The right to send ended before the connection stood.
    package static let sendingTooLate = VerdictReason(ours: "sending_too_late")
    /// The provider's metadata (RFC 8414) can't be had, so that nobody knows where to send.
    package static let discoveryFailed = VerdictReason(ours: "discovery_failed")
    /// The issuer names another token endpoint than the one that the token belongs to.
    package static let endpointMoved = VerdictReason(ours: "endpoint_moved")
    /// The assertion that the request needs could not be signed.
    package static let signingFailed = VerdictReason(ours: "signing_failed")
    /// The provider, or the client that the token was made for, is not configured any more: nobody is asked.
    package static let notConfigured = VerdictReason(ours: "not_configured")
    /// The provider has not revoked the token yet, and is asked by itself.
    package static let waiting = VerdictReason(ours: "waiting")
    /// The client was shut down.
    package static let shutDown = VerdictReason(ours: "shut_down")
}
