internal import OAuth
internal import ProviderClient
internal import TokenModel
internal import TokenStorage

/// Stands for a provider, or a client, that the configuration does not have any more: nothing is sent there.
struct GoneTokenEndpoint: TokenEndpoint {
    let binding: EndpointBinding
    let timeout = Duration.zero

    init(_ binding: AccountRecord.Binding) {
        self.binding = EndpointBinding(issuer: binding.issuer, clientID: binding.clientID)
    }

    func redeem(
        _ refreshToken: Secret,
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        .notSent(.notConfigured)
    }

    func mint(scopes: [String], mayStillSend: @escaping @Sendable () -> Bool) async -> TokenVerdict {
        .notSent(.notConfigured)
    }

    func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict {
        .unreachable(.notConfigured)
    }
}
