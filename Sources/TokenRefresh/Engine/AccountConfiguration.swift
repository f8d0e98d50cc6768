package import ProviderClient
internal import Synchronization
package import TokenModel
package import TokenStorage

/// What the configuration says about one account, as far as refreshing goes.
package struct AccountConfiguration: Sendable {
    package let account: AccountID
    package let provider: ProviderID
    /// How its tokens come about.
    package let grant: AccountGrant
    /// Where its refresh token is redeemed, or its tokens are minted; shared by the provider's accounts.
    package let endpoint: any TokenEndpoint
    /// Tells endpoints of one binding apart, such as before and after another client secret; `nil` where one binding is one
    /// endpoint.
    package let endpointID: ObjectIdentifier?
    /// What to ask for; empty: what was granted before.
    package let scopes: [String]
    /// The lifetime of an imported access token that came without one.
    package let defaultLifetime: Duration
    /// When it is refreshed without anybody waiting.
    package let timing: RefreshTiming
    /// How fast the provider is asked; the same for all of its accounts.
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

    /// How long callers wait for its refresh.
    var timeout: Duration { self.endpoint.timeout }

    /// Whether by `other` the same is sent to the same place, in the name of the same client.
    func asks(like other: AccountConfiguration) -> Bool {
        self.binding == other.binding && self.grant == other.grant && self.endpointID == other.endpointID
    }

    /// Whom its tokens may go to, as far as that is known now.
    package var binding: AccountRecord.Binding {
        let binding = self.endpoint.binding
        return AccountRecord.Binding(provider: self.provider, issuer: binding.issuer, clientID: binding.clientID)
    }
}

/// How an account's access tokens come about (RFC 6749 §1.3).
package enum AccountGrant: String, Equatable, Sendable {
    /// From a stored refresh token; the first arrives by import.
    case refreshToken = "refresh_token"
    /// In the client's own name, minted when one is needed (RFC 6749 §4.4). There is nothing to lose: such an account is
    /// never empty and never kept alive, and a refusal is not final.
    case clientCredentials = "client_credentials"
    /// By a sign-in with the owner's password (RFC 6749 §4.3), which may bring a refresh token to be redeemed from then on.
    case password
    /// Minted for an assertion of somebody the provider trusts (RFC 7523 §2.1).
    case jwtBearer = "jwt-bearer"

    /// Whether tokens can be had without one that was stored.
    package var mints: Bool { self != .refreshToken }
}

/// How many may wait for a refresh, and how long.
package struct RefreshLimits: Sendable {
    /// Over all accounts; past it a request is answered `overloaded`.
    package var waiters: Int
    /// However long a provider's `timeout` is, past this a waiter is answered `refresh_failed`; the flight goes on.
    package var longestWait: Duration
    /// How often the records of accounts with a credential are read again, for a change whose hint was lost.
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

    /// How long a caller waits for a refresh by `plan`.
    func wait(for plan: AccountConfiguration) -> Duration { min(plan.timeout, self.longestWait) }
}

/// A provider as an operator is shown it.
package struct ProviderStatus: Equatable, Sendable {
    package let provider: ProviderID
    package let state: ProviderAvailability.Word
    /// When it is asked again; `nil` where nothing keeps requests from it, or one finds out now.
    package let retryAt: WallTime?
    /// Whether a kill revokes anything there; `nil` while nobody knows.
    package let revokes: Bool?

    package init(provider: ProviderID, state: ProviderAvailability.Word, retryAt: WallTime?, revokes: Bool? = nil) {
        self.provider = provider
        self.state = state
        self.retryAt = retryAt
        self.revokes = revokes
    }
}

extension RefreshEngine {
    /// The providers of the configuration that accounts are of.
    package var providerStatuses: [ProviderStatus] {
        let now = self.timepiece.now
        let endpoints = self.state.withLock { state in
            Dictionary(state.plans.values.map { ($0.provider, $0.endpoint) }) { first, _ in first }
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
