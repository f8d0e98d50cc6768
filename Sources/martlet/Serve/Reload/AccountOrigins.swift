internal import Settings
internal import TokenModel

/// Where the tokens of each account come from that there was since the start.
///
/// A request under way goes on by its old route, with whatever token its account has by then. That must not become a token
/// of somebody else's making: the old upstream would get what is meant for the new one.
struct AccountOrigins {
    private struct Origin: Equatable {
        let issuer: HTTPURL?
        let tokenEndpoint: HTTPURL?
    }

    private var origins: [AccountID: Origin] = [:]

    init(_ settings: GatewaySettings) {
        self.add(settings)
    }

    /// Accounts whose tokens would come from elsewhere than they ever did.
    func moved(in settings: GatewaySettings) -> [AccountID] {
        Self.origins(of: settings).compactMap { account, origin in
            self.origins[account].map { $0 == origin } ?? true ? nil : account
        }
    }

    /// Remembers those that are new.
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
