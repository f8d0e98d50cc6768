package import TokenModel

/// What is to be done for nobody: each provider's accounts in a schedule of their own, and a bound on what is under way
/// there at once.
///
/// A provider at its bound is passed over until one of its errands ends, so that one that hangs holds up no other.
package struct Agenda: Sendable {
    /// How many records of one provider's accounts are read, or refreshed, at once for nobody.
    package static let mostErrands = 8

    private struct Page: Sendable {
        var schedule = Schedule()
        /// Whose errands are under way.
        var errands: Set<AccountID> = []

        var hasRoom: Bool { self.errands.count < Agenda.mostErrands }
    }

    /// In an array, so that looking through them copies none.
    private var pages: [Page] = []
    private var indices: [ProviderID: Int] = [:]

    package init() {}

    /// Puts an account's moment in place of the one it had; `nil` takes it out.
    package mutating func set(_ due: BootInstant?, for account: AccountID, of provider: ProviderID) {
        self.pages[self.page(of: provider)].schedule.set(due, for: account)
    }

    /// The earliest moment at which an errand may begin; `nil`: none, or not before one has ended.
    package var next: BootInstant? {
        mutating get { self.earliest()?.due }
    }

    /// Takes out the account whose moment has come, the earliest of those whose provider has room.
    package mutating func takeDue(at now: BootInstant) -> AccountID? {
        guard let (due, index) = self.earliest(), due <= now else { return nil }
        return self.pages[index].schedule.takeDue(at: now)
    }

    /// An errand of one of the provider's accounts begins.
    package mutating func begin(_ account: AccountID, of provider: ProviderID) {
        self.pages[self.page(of: provider)].errands.insert(account)
    }

    /// One of them has ended, or takes so long that others may begin. Harmless where that was said before.
    package mutating func end(_ account: AccountID, of provider: ProviderID) {
        self.pages[self.page(of: provider)].errands.remove(account)
    }

    private mutating func earliest() -> (due: BootInstant, index: Int)? {
        var earliest: (due: BootInstant, index: Int)?
        for index in self.pages.indices where self.pages[index].hasRoom {
            guard let due = self.pages[index].schedule.next else { continue }
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
