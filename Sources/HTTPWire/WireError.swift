/// Why bytes are not the HTTP/1.1 that is taken here. Equal when the codes are equal.
///
/// For bytes from a caller ``code`` is the answer; for bytes from an upstream any of them means that the connection is
/// thrown away.
package struct WireError: Error, Sendable {
    /// Names of the contract with callers.
    package enum Code: String, Sendable {
        case badRequest = "bad_request"
        case targetTooLong = "target_too_long"
        case headTooLarge = "head_too_large"
        case methodNotAllowed = "method_not_allowed"
        case expectationFailed = "expectation_failed"
        case notImplemented = "not_implemented"
        case versionUnsupported = "version_unsupported"
    }

    package let code: Code
    /// Which rule was broken. Static, so that nothing a peer sent is ever in it.
    package let reason: StaticString

    package init(_ code: Code, _ reason: StaticString) {
        self.code = code
        self.reason = reason
    }

    static func bad(_ reason: StaticString) -> WireError { WireError(.badRequest, reason) }
}

extension WireError: Equatable {
    package static func == (left: WireError, right: WireError) -> Bool { left.code == right.code }
}
