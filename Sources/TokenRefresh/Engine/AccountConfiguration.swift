package import ProviderClient
internal import Synchronization
package import TokenModel
package import TokenStorage

/// The part of one account's configuration that refreshes need.
package struct AccountConfiguration: Sendable {
    package private(set) var account: AccountID
    package let provider: ProviderID
    /// How the account gets its tokens.
    package let grant: AccountGrant
    /// Where the account's refresh token is redeemed or its tokens are minted. The provider's accounts share it.
    package let endpoint: any TokenEndpoint
    /// Distinguishes endpoints with the same binding, such as before and after a change of the client secret; `nil` if
    /// a binding has only one endpoint.
    package let endpointID: ObjectIdentifier?
    /// The scopes to request; empty to request those that were granted before.
    package let scopes: [String]
    /// The lifetime of an imported access token that came without one.
    package let defaultLifetime: Duration
    /// When the account is refreshed in the background.
    package let timing: RefreshTiming
    /// The maximum rate of token requests to the provider; the same for all of its accounts.
    package let rate: RefreshRate

    package init(
        account: AccountID,
        provider: ProviderID,
        grant: AccountGrant = .refreshToken,
        endpoint: any TokenEndpoint,
        endpointID: ObjectIdentifier? = nil,
        scopes: [String] = [],
        defaultLifetime: Duration = .seconds(3_600),
        timing: RefreshTiming = RefreshTiming(),
        rate: RefreshRate = RefreshRate()
    ) {
        self.account = account
        self.provider = provider
        self.grant = grant
        self.endpoint = endpoint
        self.endpointID = endpointID
        self.scopes = scopes
        self.defaultLifetime = defaultLifetime
        self.timing = timing
        self.rate = rate
    }

    /// The same for another account.
    func named(_ account: AccountID) -> AccountConfiguration {
        var other = self
        other.account = account
        return other
    }

    /// How long callers wait for the account's refresh.
    var timeout: Duration { self.endpoint.timeout }

    /// Whether `other` leads to the same requests to the same endpoint for the same client.
    func asks(like other: AccountConfiguration) -> Bool {
        self.binding == other.binding && self.grant == other.grant && self.endpointID == other.endpointID
    }

    /// The provider, issuer and client that the tokens may be sent to, as far as known now.
    package var binding: AccountRecord.Binding {
        let binding = self.endpoint.binding
        return AccountRecord.Binding(provider: self.provider, issuer: binding.issuer, clientID: binding.clientID)
    }
}

/// How an account gets its access tokens (RFC 6749 §1.3).
package enum AccountGrant: String, Equatable, Sendable {
    /// From a stored refresh token. The first refresh token is imported.
    case refreshToken = "refresh_token"
    /// In the client's own name, minted on demand (RFC 6749 §4.4). Such an account has nothing to lose: it is never
    /// empty and never kept alive, and a refusal is not final.
    case clientCredentials = "client_credentials"
    /// By a sign-in with the owner's password (RFC 6749 §4.3). The sign-in may bring a refresh token, which is redeemed
    /// from then on.
    case password
    /// Minted for an assertion from a party that the provider trusts (RFC 7523 §2.1).
    case jwtBearer = "jwt-bearer"

    /// Whether tokens can be obtained without a stored token.
    package var mints: Bool { self != .refreshToken }
}

/// Limits on how many callers wait for a refresh, and for how long.
package struct RefreshLimits: Sendable {
    /// The maximum number of waiters over all accounts. Further requests get the error `overloaded`.
    package var waiters: Int
    /// The longest wait, however long a provider's `timeout` is. After it a waiter gets the error `refresh_failed`; the
    /// flight goes on.
    package var longestWait: Duration
    /// The interval at which the records of accounts with a credential are checked again, in case a change notification
    /// was lost.
    package var rereadInterval: Duration

    package init(
        waiters: Int = 10_000,
        longestWait: Duration = .seconds(15),
        rereadInterval: Duration = .seconds(10)
    ) {
        self.waiters = waiters
        self.longestWait = longestWait
        self.rereadInterval = rereadInterval
    }

    /// How long a caller waits for a refresh of `plan`'s account.
    func wait(for plan: AccountConfiguration) -> Duration { min(plan.timeout, self.longestWait) }
}

/// A provider's status for operators.
package struct ProviderStatus: Equatable, Sendable {
    package let provider: ProviderID
    package let state: ProviderAvailability.Word
    /// When the provider is asked again; `nil` if nothing keeps requests from it or a probe is in progress.
    package let retryAt: WallTime?
    /// Whether a kill revokes tokens at this provider; `nil` if this is unknown.
    package let revokes: Bool?

    package init(provider: ProviderID, state: ProviderAvailability.Word, retryAt: WallTime?, revokes: Bool? = nil) {
        self.provider = provider
        self.state = state
        self.retryAt = retryAt
        self.revokes = revokes
    }
}

extension RefreshEngine {
    /// The providers of all configured accounts.
    package var providerStatuses: [ProviderStatus] {
        let now = self.timepiece.now
        let endpoints = self.state.withLock { state in
            Dictionary(state.plans.all.map { ($0.provider, $0.endpoint) }) { first, _ in first }
        }
        return self.providers.sorted { $0.key < $1.key }.map { provider, availability in
            ProviderStatus(
                provider: provider,
                state: availability.word,
                retryAt: availability.retryAt.map { now.wall.advanced(by: max(now.boot.duration(to: $0), .zero)) },
                revokes: endpoints[provider]?.revokes
            )
        }
    }
}
