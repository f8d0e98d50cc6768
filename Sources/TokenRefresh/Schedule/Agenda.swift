package import TokenModel

/// What is to be done for nobody: each provider's accounts in a schedule of their own, and a bound on what is under way
/// there at once.
///
/// A provider at its bound is passed over until one of its errands ends, or has taken longer than callers wait, so that one
/// that hangs holds up no other.
package struct Agenda: Sendable {
    /// How many records of one provider's accounts are read, or refreshed, at once for nobody.
    package static let mostErrands = 8

    private struct Page: Sendable {
        var schedule = Schedule()
        /// Whose errands are under way, and until when each counts.
        var errands: [AccountID: BootInstant] = [:]

        /// When there is room for another, if none ends before.
        var roomAt: BootInstant {
            let excess = self.errands.count - Agenda.mostErrands
            return excess < 0 ? .distantPast : self.errands.values.sorted()[excess]
        }
    }

    /// In an array, so that looking through them copies none.
    private var pages: [Page] = []
    private var indices: [ProviderID: Int] = [:]

    package init() {}

    /// Puts an account's moment in place of the one it had; `nil` takes it out.
    package mutating func set(_ due: BootInstant?, for account: AccountID, of provider: ProviderID) {
        self.pages[self.page(of: provider)].schedule.set(due, for: account)
    }

    /// The earliest moment at which an errand may begin; `nil`: none.
    package var next: BootInstant? {
        mutating get { self.earliest()?.due }
    }

    /// Takes out the account whose moment has come, the earliest of those whose provider has room.
    package mutating func takeDue(at now: BootInstant) -> AccountID? {
        guard let (due, index) = self.earliest(), due <= now else { return nil }
        return self.pages[index].schedule.takeDue(at: now)
    }

    /// An errand of one of the provider's accounts begins.
    ///
    /// - Parameter until: when it ceases to count, although it has not ended.
    package mutating func begin(_ account: AccountID, of provider: ProviderID, until: BootInstant) {
        self.pages[self.page(of: provider)].errands[account] = until
    }

    /// One of them has ended.
    package mutating func end(_ account: AccountID, of provider: ProviderID) {
        self.pages[self.page(of: provider)].errands[account] = nil
    }

    private mutating func earliest() -> (due: BootInstant, index: Int)? {
        var earliest: (due: BootInstant, index: Int)?
        for index in self.pages.indices {
            guard let next = self.pages[index].schedule.next else { continue }
            let due = max(next, self.pages[index].roomAt)
            if let known = earliest, known.due <= due { continue }
            earliest = (due, index)
        }
        return earliest
    }

    private mutating func page(of provider: ProviderID) -> Int {
        if let index = self.indices[provider] { return index }
        self.indices[provider] = self.pages.count
        self.pages.append(Page())
        return self.pages.count - 1
    }
}
