package import HTTPWire
package import TokenModel

/// Why the gateway answers a request with a local reply. Two errors are equal when their codes are equal.
package struct GatewayError: Error, Sendable {
    /// Stable names that callers may rely on; ``GatewayError/reply(to:close:keepAlive:)`` gives each its status.
    package enum Code: String, Sendable, CaseIterable {
        case badRequest = "bad_request"
        case targetTooLong = "target_too_long"
        case headTooLarge = "head_too_large"
        case methodNotAllowed = "method_not_allowed"
        case expectationFailed = "expectation_failed"
        case notImplemented = "not_implemented"
        case versionUnsupported = "version_unsupported"
        case callerUnknown = "caller_unknown"
        case callerForbidden = "caller_forbidden"
        case noRoute = "no_route"
        case loopDetected = "loop_detected"
        case lengthRequired = "length_required"
        case bodyTimeout = "body_timeout"
        case upstreamUnreachable = "upstream_unreachable"
        case upstreamReset = "upstream_reset"
        case upstreamInvalid = "upstream_invalid"
        case upstreamTimeout = "upstream_timeout"
        case refreshFailed = "refresh_failed"
        case providerConfig = "provider_config"
        case reauthorizationRequired = "reauthorization_required"
        case accountEmpty = "account_empty"
        case accountUnreadable = "account_unreadable"
        case killed = "killed"
        case storeLost = "store_lost"
        case overloaded = "overloaded"
        case locked = "locked"
        case approvalRequired = "approval_required"
    }

    package let code: Code
    /// For the operator: what failed, on what, and what would help. It may name files, keys and hosts, but never holds
    /// a token or anything that the caller sent. The caller sees ``detail`` instead.
    package let message: String
    /// A specific explanation for the caller, such as which rule of HTTP was broken; `nil` where the code says enough.
    private(set) var reason: StaticString?
    /// The rule of HTTP that an upstream's response broke.
    package private(set) var rule: WireRule?
    package var account: AccountID?
    /// ``Route/number`` of a route that matches but that the request may not use, or not now; otherwise 0. It is logged
    /// and counted, and the caller is not told.
    var matchedRoute = 0
    /// Name of the route.
    package var route: String?
    /// How long to wait before a retry may help.
    package var retryAfter: Duration?

    package init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    /// The caller is told `reason`. The operator gets `message`, or `reason` where `message` is `nil`.
    init(_ code: Code, _ message: String? = nil, reason: StaticString) {
        self.init(code, message ?? "\(reason)")
        self.reason = reason
    }

    /// An error in a caller's bytes; ``WireError/Code`` has the same names.
    init(_ error: WireError) {
        self.init(Code(rawValue: error.code.rawValue) ?? .badRequest, "\(error.reason)")
        self.reason = error.reason
    }

    /// An upstream's response breaks `rule`. The message is only the rule's name, because operators count by it.
    package init(answerBreaks rule: WireRule) {
        self.init(.upstreamInvalid, rule.rawValue)
        self.rule = rule
    }

    /// Why an account had no credential to give; ``CredentialError/Code`` has the same names.
    init(_ error: CredentialError) {
        self.init(Code(rawValue: error.code.rawValue) ?? .refreshFailed, error.message, retryAfter: error.retryAfter)
        if error.isBoundElsewhere {
            self.reason =
                "its tokens belong to another client or endpoint; an operator runs martlet accounts adopt NAME"
        } else if error.wasEmptied {
            self.reason =
                "its tokens were killed or removed, and it waits for new ones: an operator runs martlet login NAME"
        } else if let restraint = error.restraint {
            self.reason =
                switch restraint {
                case .account: "the account was refreshed too often in a short time; try again as Retry-After says"
                case .provider: "more refreshes are due than the provider's refresh_rate lets through; try again"
                }
        }
    }
}

extension GatewayError: Equatable {
    package static func == (left: GatewayError, right: GatewayError) -> Bool { left.code == right.code }
}

extension GatewayError {
    /// Which party caused the error.
    package enum Fault: Sendable { case caller, upstream, provider, gateway }

    package var fault: Fault {
        switch self.code {
        case .badRequest, .targetTooLong, .headTooLarge, .methodNotAllowed, .expectationFailed, .notImplemented,
            .versionUnsupported, .callerUnknown, .callerForbidden, .noRoute, .loopDetected, .lengthRequired,
            .bodyTimeout:
            .caller
        case .upstreamUnreachable, .upstreamReset, .upstreamInvalid, .upstreamTimeout: .upstream
        case .refreshFailed, .providerConfig, .reauthorizationRequired: .provider
        case .accountEmpty, .accountUnreadable, .killed, .storeLost, .overloaded, .locked, .approvalRequired: .gateway
        }
    }
}
