internal import Settings
internal import TokenModel

/// The origin of each account's tokens, for all accounts since the start.
///
/// A request in progress keeps its old route but takes the account's current token. If that token came from another
/// issuer, the old upstream would receive a token meant for the new one.
struct AccountOrigins {
    private struct Origin: Equatable {
        let issuer: HTTPURL?
        let tokenEndpoint: HTTPURL?
    }

    private var origins: [AccountID: Origin] = [:]

    init(_ settings: GatewaySettings) {
        self.add(settings)
    }

    /// The accounts whose tokens would come from another origin than before.
    func moved(in settings: GatewaySettings) -> [AccountID] {
        Self.origins(of: settings).compactMap { account, origin in
            self.origins[account].map { $0 == origin } ?? true ? nil : account
        }
    }

    /// Remembers the origins of new accounts.
    mutating func add(_ settings: GatewaySettings) {
        for (account, origin) in Self.origins(of: settings) where self.origins[account] == nil {
            self.origins[account] = origin
        }
    }

    private static func origins(of settings: GatewaySettings) -> [(AccountID, Origin)] {
        settings.accounts.compactMap { account in
            settings.providers.first { $0.id == account.provider }.map { provider in
                (account.id, Origin(issuer: provider.issuer, tokenEndpoint: provider.tokenEndpoint))
            }
        }
    }
}
