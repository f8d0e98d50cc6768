internal import OAuth
internal import ProviderClient
internal import Telemetry
internal import TokenModel

/// A provider whose token requests are counted and timed.
struct MeteredTokenEndpoint: TokenEndpoint {
    let provider: ProviderID
    /// Held for as long as anyone may ask.
    let shared: SharedTokenEndpoint
    let meter: RefreshMeter

    private var endpoint: HTTPTokenEndpoint { self.shared.endpoint }
    var binding: EndpointBinding { self.endpoint.binding }
    var timeout: Duration { self.endpoint.timeout }

    func redeem(
        _ refreshToken: Secret,
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        await self.metered {
            await self.endpoint.redeem(refreshToken, scopes: scopes, mayStillSend: mayStillSend)
        }
    }

    func mint(scopes: [String], mayStillSend: @escaping @Sendable () -> Bool) async -> TokenVerdict {
        await self.metered { await self.endpoint.mint(scopes: scopes, mayStillSend: mayStillSend) }
    }

    private func metered(_ ask: () async -> TokenVerdict) async -> TokenVerdict {
        let begin = BootInstant.now
        let verdict = await ask()
        self.meter.add(verdict.name, of: self.provider, took: begin.duration(to: .now))
        return verdict
    }

    func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict {
        await self.endpoint.revoke(token, kind: kind)
    }
}
