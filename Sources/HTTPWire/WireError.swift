/// Why bytes are not the HTTP/1.1 that is taken here. Equal when the codes are equal.
///
/// For bytes from a caller ``code`` is the answer; for bytes from an upstream any of them means that the connection is
/// thrown away.
package struct WireError: Error, Sendable {
    /// Names of the contract with callers.
    package enum Code: String, Sendable {
        /// Not HTTP/1.1, ambiguous, or out of bounds: 400.
        case badRequest = "bad_request"
        /// The target or the request line: 414.
        case targetTooLong = "target_too_long"
        /// The head, a field, or the number of fields; trailers too: 431.
        case headTooLarge = "head_too_large"
        /// `TRACE` or `CONNECT`: 405.
        case methodNotAllowed = "method_not_allowed"
        /// An `Expect` other than `100-continue`: 417.
        case expectationFailed = "expectation_failed"
        /// A transfer coding other than `chunked`: 501.
        case notImplemented = "not_implemented"
        /// HTTP, but neither 1.0 nor 1.1: 505.
        case versionUnsupported = "version_unsupported"
    }

    /// What the caller is told.
    package let code: Code
    /// Which rule was broken. Static, so that nothing a peer sent is ever in it.
    package let reason: StaticString
    /// The rule by its name; `nil` for one that only requests have.
    package let rule: WireRule?

    /// - Parameter reason: says the rule, and nothing of the bytes.
    package init(_ code: Code, _ reason: StaticString) {
        self.code = code
        self.reason = reason
        self.rule = nil
    }

    /// What breaks a rule that answers have too.
    package init(_ rule: WireRule) {
        self.code = rule.code
        self.reason = rule.finding
        self.rule = rule
    }

    static func bad(_ reason: StaticString) -> WireError { WireError(.badRequest, reason) }
}

extension WireError: Equatable {
    /// Whether the codes are equal.
    package static func == (left: WireError, right: WireError) -> Bool { left.code == right.code }
}
