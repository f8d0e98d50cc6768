package import TokenModel

/// The pass of each account as it was last announced, whether any route uses it or not: when a route comes that does,
/// nobody announces it again. Dead ones are not kept.
package struct PassBook: Sendable {
    private var passes: [AccountID: Pass] = [:]
    /// Which tokens are dead.
    package private(set) var epochs = KillEpochs()

    package init() {}

    package mutating func follow(_ event: PassEvent) {
        switch event {
        case .installed(let pass): if self.epochs.verdict(on: pass) == .live { self.passes[pass.account] = pass }
        case .dropped(let account), .retired(let account): self.passes[account] = nil
        }
    }

    /// Goes by a kill log from now on, unless that is an older one.
    package mutating func fence(_ epochs: KillEpochs) {
        if epochs.last >= self.epochs.last { self.epochs = epochs }
        self.passes = self.passes.filter { self.epochs.verdict(on: $0.value) == .live }
    }

    package subscript(account: AccountID) -> Pass? { self.passes[account] }
}
