/// What a kill is about: everything, a provider's accounts, or one account.
package enum KillScope: Hashable, Sendable {
    case all
    case provider(ProviderID)
    case account(AccountID)

    /// As `martlet kill` and `martlet revive` take it.
    package var option: String {
        switch self {
        case .all: "--all"
        case .provider(let provider): "--provider \(provider)"
        case .account(let account): "--account \(account)"
        }
    }
}

/// What becomes of requests under way whose token has been killed.
package enum KillStreams: String, Sendable, CaseIterable {
    /// They are cut.
    case abort
    /// Those whose head has left may end; no new one starts.
    case drain
}
