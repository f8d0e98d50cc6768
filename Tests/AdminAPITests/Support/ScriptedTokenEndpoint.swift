internal import OAuth
internal import ProviderClient
internal import Synchronization
internal import TokenModel

/// A provider with scripted responses, which records its requests.
final class ScriptedTokenEndpoint: TokenEndpoint {
    private struct State {
        var verdicts: [TokenVerdict] = []
        var revocation = RevocationVerdict.revoked
        var gate: Gate?
        var redeemed: [Secret] = []
        var revoked: [(token: Secret, kind: RevocableToken)] = []
    }

    let binding = EndpointBinding(issuer: .tokenEndpoint("https://login.acme.example:443/token"), clientID: "my-app")
    let timeout = Duration.seconds(8)
    /// The client secret.
    static let clientSecret = "client-secret-canary"
    private let state = Mutex(State())

    func isClientSecret(_ value: Secret) -> Bool { value == Secret(Self.clientSecret) }

    /// Adds verdicts for the next exchanges. When there are none left, connecting to the provider fails.
    func answer(with verdicts: TokenVerdict...) {
        self.state.withLock { $0.verdicts += verdicts }
    }

    func answerRevocations(with verdict: RevocationVerdict) {
        self.state.withLock { $0.revocation = verdict }
    }

    /// Makes exchanges wait at `gate` before they respond.
    func hold(at gate: Gate) {
        self.state.withLock { $0.gate = gate }
    }

    /// Lets all waiting exchanges respond.
    func release() {
        self.state.withLock { $0.gate }?.open()
    }

    var redeemed: [Secret] { self.state.withLock { $0.redeemed } }
    var revokedTokens: [Secret] { self.state.withLock { $0.revoked.map(\.token) } }

    func redeem(
        _ refreshToken: Secret,
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        guard mayStillSend() else { return .notSent(.sendingTooLate) }
        let gate = self.state.withLock { state in
            state.redeemed.append(refreshToken)
            return state.gate
        }
        await gate?.credential()
        return self.state.withLock { state in
            state.verdicts.isEmpty ? .notSent(.connectFailed) : state.verdicts.removeFirst()
        }
    }

    func mint(scopes: [String], mayStillSend: @escaping @Sendable () -> Bool) async -> TokenVerdict {
        await self.redeem(Secret("minted"), scopes: scopes, mayStillSend: mayStillSend)
    }

    func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict {
        self.state.withLock { state in
            state.revoked.append((token, kind))
            return state.revocation
        }
    }
}
