package import TokenModel

/// The background work: a schedule of accounts for each provider, and a limit on the errands in progress there. An
/// errand is a background read or refresh of one account, which no caller waits for.
///
/// A provider at its limit is skipped until one of its errands ends or has taken longer than callers wait. So a
/// provider that hangs delays no other one.
package struct Agenda: Sendable {
    /// The maximum number of errands in progress per provider.
    package static let mostBackgroundJobs = 8

    private struct Page: Sendable {
        var schedule = Schedule()
        /// The accounts with an errand in progress, and until when each errand counts.
        var backgroundJobs: [AccountID: BootInstant] = [:]

        /// When another errand may begin if none ends before.
        var roomAt: BootInstant {
            let excess = self.backgroundJobs.count - Agenda.mostBackgroundJobs
            return excess < 0 ? .distantPast : self.backgroundJobs.values.sorted()[excess]
        }
    }

    /// An array, so that iterating copies no page.
    private var pages: [Page] = []
    private var indices: [ProviderID: Int] = [:]

    package init() {}

    /// Sets an account's due time, in place of any earlier one; `nil` removes the account.
    package mutating func set(_ due: BootInstant?, for account: AccountID, of provider: ProviderID) {
        self.pages[self.page(of: provider)].schedule.set(due, for: account)
    }

    /// The earliest moment at which an errand may begin; `nil` if there is none.
    package var next: BootInstant? {
        mutating get { self.earliest()?.due }
    }

    /// Removes and returns the account with the earliest due time that has come, among providers below their limit.
    package mutating func takeDue(at now: BootInstant) -> AccountID? {
        guard let (due, index) = self.earliest(), due <= now else { return nil }
        return self.pages[index].schedule.takeDue(at: now)
    }

    /// Records that an errand of an account begins.
    ///
    /// - Parameter until: when the errand stops counting, even if it has not ended.
    package mutating func begin(_ account: AccountID, of provider: ProviderID, until: BootInstant) {
        self.pages[self.page(of: provider)].backgroundJobs[account] = until
    }

    /// Records that the account's errand has ended.
    package mutating func end(_ account: AccountID, of provider: ProviderID) {
        self.pages[self.page(of: provider)].backgroundJobs[account] = nil
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
