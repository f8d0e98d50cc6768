/// The counts of the mock since its start, in the format of `GET /_control/stats`. Every key is always present.
package struct MockStats: Codable, Equatable, Sendable {
    /// By outcome.
    package var tokenRequests = TokenRequests()

    /// The highest numbers of token requests in progress at once.
    package var tokenRequestsAtOnce = AtOnce()

    /// For each account, how often each of its refresh tokens was presented, in the order of issue. Tokens that were
    /// never presented are left out.
    package var refreshTokenUses: [String: [Int]] = [:]

    /// The number of families revoked by the second use of a rotated refresh token.
    package var reuseDetections = 0

    /// By outcome.
    package var revocations = Revocations()

    /// For each account ever opened.
    package var live: [String: LiveTokens] = [:]

    /// By the state of their token.
    package var apiRequests = APIRequests()

    /// For each account, the time of the last API request that carried one of its access tokens, live or dead. The
    /// time is Unix seconds, taken when the head had been read.
    package var apiLastUse: [String: Double] = [:]

    /// In the order in which they were seen. Only the first ``MockState/listedDeadUses`` are listed.
    package var deadUses: [DeadUse] = []

    /// What arrived of sign-ins.
    package var signIns = SignIns()

    package init() {}

    /// The number of an account's tokens that still work.
    package struct LiveTokens: Codable, Equatable, Sendable {
        package var refresh: Int
        package var access: Int

        package init(refresh: Int, access: Int) {
            self.refresh = refresh
            self.access = access
        }
    }

    /// An API request whose access token was dead when the head had been read.
    package struct DeadUse: Codable, Equatable, Sendable {
        package var account: String
        package var state: AccessTokenState
        package var path: String

        /// Unix seconds, taken when the head had been read.
        package var at: Double

        package init(account: String, state: AccessTokenState, path: String, at: Double) {
            self.account = account
            self.state = state
            self.path = path
            self.at = at
        }
    }

    private enum CodingKeys: String, CodingKey {
        case tokenRequests = "token_requests"
        case tokenRequestsAtOnce = "token_requests_at_once"
        case refreshTokenUses = "refresh_token_uses"
        case reuseDetections = "reuse_detections"
        case revocations
        case live
        case apiRequests = "api_requests"
        case apiLastUse = "api_last_use"
        case deadUses = "dead_uses"
        case signIns = "sign_ins"
    }
}

extension MockStats {
    /// The requests of sign-ins, whatever their outcome, and what became of authorization codes.
    package struct SignIns: Codable, Equatable, Sendable {
        /// Requests to `/oauth/authorize`.
        package var authorize: Int

        /// Requests to `/oauth/par`.
        package var par: Int

        /// Requests to `/oauth/device_authorization`.
        package var device: Int

        /// Authorization codes that yielded tokens.
        package var codesRedeemed: Int

        /// Token requests with a code that had yielded tokens before.
        package var codesReplayed: Int

        /// Token requests with a device code, from the registered client.
        package var devicePolls: Int

        package init(
            authorize: Int = 0,
            par: Int = 0,
            device: Int = 0,
            codesRedeemed: Int = 0,
            codesReplayed: Int = 0,
            devicePolls: Int = 0
        ) {
            self.authorize = authorize
            self.par = par
            self.device = device
            self.codesRedeemed = codesRedeemed
            self.codesReplayed = codesReplayed
            self.devicePolls = devicePolls
        }

        private enum CodingKeys: String, CodingKey {
            case authorize
            case par
            case device
            case codesRedeemed = "codes_redeemed"
            case codesReplayed = "codes_replayed"
            case devicePolls = "device_polls"
        }
    }
}

extension MockStats {
    /// Token requests by outcome. A request refused for any reason other than its client counts as `invalid_grant`.
    package struct TokenRequests: Codable, Equatable, Sendable {
        package var ok: Int
        package var invalidGrant: Int
        package var invalidClient: Int
        package var fault: Int

        package init(ok: Int = 0, invalidGrant: Int = 0, invalidClient: Int = 0, fault: Int = 0) {
            self.ok = ok
            self.invalidGrant = invalidGrant
            self.invalidClient = invalidClient
            self.fault = fault
        }

        private enum CodingKeys: String, CodingKey {
            case ok
            case invalidGrant = "invalid_grant"
            case invalidClient = "invalid_client"
            case fault
        }
    }

    /// The highest number of token requests that were ever in progress at once.
    package struct AtOnce: Codable, Equatable, Sendable {
        package var any: Int
        package var perRefreshToken: Int

        package init(any: Int = 0, perRefreshToken: Int = 0) {
            self.any = any
            self.perRefreshToken = perRefreshToken
        }

        private enum CodingKeys: String, CodingKey {
            case any
            case perRefreshToken = "per_refresh_token"
        }
    }

    /// Revocation requests by outcome. A request that names no token of this provider, or comes from a wrong client,
    /// is `unknown`.
    package struct Revocations: Codable, Equatable, Sendable {
        package var ok: Int
        package var unknown: Int
        package var fault: Int

        package init(ok: Int = 0, unknown: Int = 0, fault: Int = 0) {
            self.ok = ok
            self.unknown = unknown
            self.fault = fault
        }
    }

    /// API requests by the state of their token.
    package struct APIRequests: Codable, Equatable, Sendable {
        package var ok: Int
        package var noToken: Int
        package var unknown: Int
        package var expired: Int
        package var revoked: Int
        package var fault: Int

        package init(
            ok: Int = 0,
            noToken: Int = 0,
            unknown: Int = 0,
            expired: Int = 0,
            revoked: Int = 0,
            fault: Int = 0
        ) {
            self.ok = ok
            self.noToken = noToken
            self.unknown = unknown
            self.expired = expired
            self.revoked = revoked
            self.fault = fault
        }

        private enum CodingKeys: String, CodingKey {
            case ok
            case noToken = "no_token"
            case unknown
            case expired
            case revoked
            case fault
        }
    }
}

/// The outcome of one revocation request, for the statistics.
package enum RevocationOutcome: Sendable {
    case ok
    case unknown
    case fault
}

/// The state of the token of one API request, for the statistics.
package enum APIOutcome: Equatable, Sendable {
    case ok(account: String)
    case noToken
    case unknown
    case expired
    case revoked
    case fault
}

/// The outcome of one token request, for the statistics.
package enum TokenOutcome: Sendable {
    case ok
    case refused(GrantRefusal)
    case fault
}

/// The highest number of token requests in progress at once. A request begins when it has been read. It ends just
/// before its response is sent, or when its client hangs up, so that a client that gives up and retries does not count
/// twice.
package struct TokenRequestGauge: Sendable {
    /// One request in progress.
    package struct Span: Hashable, Sendable {
        fileprivate let number: Int
    }

    /// The highest number so far.
    package private(set) var mostAtOnce = 0

    /// The highest number so far with the same refresh token.
    package private(set) var mostPerRefreshToken = 0

    private var open: [Span: String?] = [:]
    private var perRefreshToken: [String: Int] = [:]
    private var next = 0

    package init() {}

    /// Records that a request has been read.
    package mutating func begin(refreshToken: String?) -> Span {
        let span = Span(number: self.next)
        self.next += 1
        self.open[span] = .some(refreshToken)
        self.mostAtOnce = max(self.mostAtOnce, self.open.count)
        if let refreshToken {
            self.perRefreshToken[refreshToken, default: 0] += 1
            self.mostPerRefreshToken = max(self.mostPerRefreshToken, self.perRefreshToken[refreshToken, default: 0])
        }
        return span
    }

    /// Records the end of a request. A second call for the same span has no effect.
    package mutating func end(_ span: Span) {
        guard let refreshToken = self.open.removeValue(forKey: span) else { return }
        guard let refreshToken, let count = self.perRefreshToken[refreshToken] else { return }
        self.perRefreshToken[refreshToken] = count > 1 ? count - 1 : nil
    }
}
