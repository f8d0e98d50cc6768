import OAuth
import ProviderClient
import Simulation
import Synchronization
import TokenModel

/// A provider of many accounts in this process. The first refresh token of an account is `rt-NAME-0`; each is rotated, and
/// valid for one use.
final class FamilyTokenEndpoint: TokenEndpoint {
    /// A refresh token that arrived.
    struct Arrival: Equatable, Sendable {
        let account: AccountID
        let at: BootInstant
    }

    private struct State {
        var live: [AccountID: Int] = [:]
        var arrivals: [Arrival] = []
        var spentTwice: [AccountID] = []
        var revoked: [String] = []
        var lifetime = Duration.seconds(3_600)
        var refreshLifetime: Duration?
        var standing: TokenVerdict?
    }

    let binding = EndpointBinding(issuer: .tokenEndpoint("\(origin)/token"), clientID: "my-app")
    let timeout = Duration.seconds(8)
    let answerTimeout = Duration.seconds(8)
    private let clock: Simulation
    private let clientSecret: Secret?
    private let state = Mutex(State())

    init(_ clock: Simulation, clientSecret: Secret? = nil) {
        self.clock = clock
        self.clientSecret = clientSecret
    }

    /// The refresh tokens in the order of their arrival, whatever became of them.
    var arrivals: [Arrival] { self.state.withLock { $0.arrivals } }
    /// The accounts of these.
    var refreshed: [AccountID] { self.arrivals.map(\.account) }
    /// The accounts whose refresh token was spent twice.
    var spentTwice: [AccountID] { self.state.withLock { $0.spentTwice } }
    var revoked: [String] { self.state.withLock { $0.revoked } }

    /// Sets the lifetimes of the tokens that are issued from now on.
    func issue(lifetime: Duration, refreshLifetime: Duration? = nil) {
        self.state.withLock { ($0.lifetime, $0.refreshLifetime) = (lifetime, refreshLifetime) }
    }

    /// Answers each refresh with `verdict` and spends nothing, until it is `nil`.
    func answerAll(with verdict: TokenVerdict?) { self.state.withLock { $0.standing = verdict } }

    func isClientSecret(_ value: Secret) -> Bool { value == self.clientSecret }

    func redeem(
        _ refreshToken: Secret,
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        guard mayStillSend() else { return .notSent(.sendingTooLate) }
        let words = refreshToken.text.split(separator: "-")
        let account = AccountID(words.dropFirst().dropLast().joined(separator: "-"))
        let now = self.clock.now
        return self.state.withLock { state in
            state.arrivals.append(Arrival(account: account, at: now))
            if let standing = state.standing { return standing }
            let live = state.live[account] ?? 0
            guard words.last == "\(live)" else {
                state.spentTwice.append(account)
                return .dead(.code("invalid_grant"))
            }
            state.live[account] = live + 1
            return .success(
                TokenGrant(
                    accessToken: Secret("at-\(account)-\(live + 1)"),
                    refreshToken: Secret("rt-\(account)-\(live + 1)"),
                    lifetime: state.lifetime,
                    refreshLifetime: state.refreshLifetime
                )
            )
        }
    }

    func mint(scopes: [String], mayStillSend: @escaping @Sendable () -> Bool) async -> TokenVerdict {
        .dead(.code("unsupported_grant_type"))
    }

    func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict {
        self.state.withLock { $0.revoked.append(token.text) }
        return .revoked
    }
}
