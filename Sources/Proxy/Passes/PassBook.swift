package import TokenModel

/// The pass of each account as it was last announced, whether any route uses it or not: when a route comes that does,
/// nobody announces it again.
package struct PassBook: Sendable {
    private var passes: [AccountID: Pass] = [:]

    package init() {}

    package mutating func follow(_ event: PassEvent) {
        switch event {
        case .installed(let pass): self.passes[pass.account] = pass
        case .dropped(let account), .retired(let account): self.passes[account] = nil
        }
    }

    package subscript(account: AccountID) -> Pass? { self.passes[account] }
}
