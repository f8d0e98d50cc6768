package import TokenModel

extension KillScope {
    /// For logs and people.
    package var text: String {
        switch self {
        case .all: "everything"
        case .provider(let provider): "provider \(provider)"
        case .account(let account): "account \(account)"
        }
    }

    /// With its article; the name is not repeated.
    package var kind: String {
        switch self {
        case .all: "anything"
        case .provider: "a provider"
        case .account: "an account"
        }
    }
}
