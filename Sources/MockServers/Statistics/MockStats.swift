/// Everything the mock has counted since it started, as `GET /_control/stats` shows it. Every key is always there.
package struct MockStats: Codable, Equatable, Sendable {
    /// By outcome.
    package var tokenRequests = TokenRequests()

    /// The most there ever were at once.
    package var tokenRequestsAtOnce = AtOnce()

    /// For each account, how often each of its refresh tokens was presented, in the order they were issued; those never
    /// presented are left out.
    package var refreshTokenUses: [String: [Int]] = [:]

    /// How many families a second use of a rotated refresh token has revoked.
    package var reuseDetections = 0

    /// By outcome.
    package var revocations = Revocations()

    /// For each account there ever was.
    package var live: [String: LiveTokens] = [:]

    /// By what became of their token.
    package var apiRequests = APIRequests()

    /// For each account, when the head of the last API request that carried one of its access tokens, live or dead, was read.
    package var apiLastUse: [String: Double] = [:]

    /// In the order they were seen; only the first ``MockState/listedDeadUses`` are listed.
    package var deadUses: [DeadUse] = []

    package init() {}

    /// How many tokens of an account still work.
    package struct LiveTokens: Codable, Equatable, Sendable {
        package var refresh: Int
        package var access: Int

        package init(refresh: Int, access: Int) {
            self.refresh = refresh
            self.access = access
        }
    }

    /// An API request whose head carried an access token that was dead by then.
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
    }
}
