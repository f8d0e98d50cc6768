package import HTTPWire
package import TokenModel

/// Why a request gets an answer of the gateway's own. Equal when the codes are equal.
package struct GatewayError: Error, Sendable {
    /// Names of the contract with callers; ``GatewayError/reply(to:close:keepAlive:)`` gives each its status.
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
    }

    package let code: Code
    /// For the operator: what failed, on what, what would help. Never a token, nor anything the caller sent. The caller
    /// sees ``detail`` instead: this may name files, keys and hosts.
    package let message: String
    /// What a caller is told in particular, such as which rule of HTTP was broken; `nil` where the code says all there is to say to a caller.
    private(set) var reason: StaticString?
    /// Which rule of HTTP an upstream's answer broke.
    package private(set) var rule: WireRule?
    package var account: AccountID?
    /// Place in the configuration, counted from 1, of a route that matches and that its caller may not use; else 0. It is
    /// logged and counted, and the caller is not told.
    var forbiddenRoute = 0
    /// Name of the route.
    package var route: String?
    /// When trying again may help.
    package var retryAfter: Duration?

    package init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    /// An answer whose caller may know as much as the operator, or is told so in other words.
    init(_ code: Code, _ message: String? = nil, reason: StaticString) {
        self.init(code, message ?? "\(reason)")
        self.reason = reason
    }

    /// What is wrong with a caller's bytes; ``WireError/Code`` has the same names.
    init(_ error: WireError) {
        self.init(Code(rawValue: error.code.rawValue) ?? .badRequest, "\(error.reason)")
        self.reason = error.reason
    }

    /// What is wrong with an upstream's answer. The operator counts by the rule's name, so it is all of the message.
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
                "its tokens were killed or removed, and it waits for new ones: an operator runs martlet accounts import NAME"
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
    /// Whose doing it is.
    package enum Fault: Sendable { case caller, upstream, provider, gateway }

    package var fault: Fault {
        switch self.code {
        case .badRequest, .targetTooLong, .headTooLarge, .methodNotAllowed, .expectationFailed, .notImplemented,
            .versionUnsupported, .callerUnknown, .callerForbidden, .noRoute, .lengthRequired, .bodyTimeout:
            .caller
        case .upstreamUnreachable, .upstreamReset, .upstreamInvalid, .upstreamTimeout: .upstream
        case .refreshFailed, .providerConfig, .reauthorizationRequired: .provider
        case .accountEmpty, .accountUnreadable, .killed, .storeLost, .overloaded: .gateway
        }
    }
}
