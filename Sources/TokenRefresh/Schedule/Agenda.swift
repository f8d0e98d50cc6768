package import TokenModel

/// The background work: a schedule of accounts for each provider, and a limit on the errands in progress there. An
/// errand is a background read or refresh of one account, which no caller waits for.
///
/// Of the accounts of a provider that are due, those come first that requests were turned away for, in that order, then
/// those in use. A provider at its limit is skipped until one of its errands ends or has taken longer than callers wait. So
/// a provider that hangs delays no other one.
package struct Agenda: Sendable {
    /// Which of the due accounts come first.
    package enum Urgency: Int, Sendable, CaseIterable {
        /// Requests were turned away, since more refreshes were due than the provider's rate lets through.
        case turnedAway
        /// Requests carry the account's present token.
        case inUse
        case unused
    }

    /// The maximum number of errands in progress per provider. There may be more for accounts that requests were turned
    /// away for, so that these are refreshed at the provider's rate: twice the requests that may begin in a second.
    package static let mostBackgroundJobs = 8
    private static let mostUrgentJobs = 256

    private struct Page: Sendable {
        var schedules = [Schedule](repeating: Schedule(), count: Urgency.allCases.count)
        /// The accounts with an errand in progress, and until when each errand counts.
        var backgroundJobs: [AccountID: BootInstant] = [:]
        /// The same for accounts that requests were turned away for.
        var urgentJobs: [AccountID: BootInstant] = [:]
        /// The most errands in progress while requests are turned away.
        var mostUrgent = Agenda.mostBackgroundJobs
        /// No errand begins before this moment: a token request would have to wait for too long.
        var restsUntil = BootInstant.distantPast

        /// When another errand may begin if none ends before.
        func roomAt(_ urgency: Urgency) -> BootInstant {
            let jobs = urgency == .turnedAway ? self.urgentJobs : self.backgroundJobs
            let excess = jobs.count - (urgency == .turnedAway ? self.mostUrgent : Agenda.mostBackgroundJobs)
            return max(excess < 0 ? .distantPast : jobs.values.sorted()[excess], self.restsUntil)
        }
    }

    /// An array, so that iterating copies no page.
    private var pages: [Page] = []
    private var indices: [ProviderID: Int] = [:]
    /// How often an account was asked for.
    private var taken: UInt64 = 0
    /// The account that was taken last, if requests were turned away for it.
    private var urgent: AccountID?

    package init() {}

    /// Sets how many token requests may be sent to a provider in a second.
    package mutating func setRate(_ perSecond: Int, of provider: ProviderID) {
        self.pages[self.page(of: provider)].mostUrgent = min(
            max(2 * perSecond, Self.mostBackgroundJobs),
            Self.mostUrgentJobs
        )
    }

    /// Sets an account's due time, in place of any earlier one; `nil` removes the account.
    package mutating func set(
        _ due: BootInstant?,
        for account: AccountID,
        of provider: ProviderID,
        _ urgency: Urgency = .unused
    ) {
        let page = self.page(of: provider)
        for other in Urgency.allCases {
            self.pages[page].schedules[other.rawValue].set(other == urgency ? due : nil, for: account)
        }
    }

    /// The number of accounts of a provider that requests were turned away for and that wait for their turn.
    package func turnedAway(of provider: ProviderID) -> Int {
        self.indices[provider].map { self.pages[$0].schedules[Urgency.turnedAway.rawValue].count } ?? 0
    }

    /// Has no errand begin at a provider before `instant`.
    package mutating func rest(until instant: BootInstant, of provider: ProviderID) {
        self.pages[self.page(of: provider)].restsUntil = instant
    }

    /// The earliest moment at which an errand may begin; `nil` if there is none.
    package var next: BootInstant? {
        mutating get { Urgency.allCases.compactMap { self.earliest($0)?.due }.min() }
    }

    /// Removes and returns the account that comes first among those whose due time has come, among providers below their
    /// limit.
    package mutating func takeDue(at now: BootInstant) -> AccountID? {
        for urgency in self.order(at: now) {
            guard let (due, index) = self.earliest(urgency), due <= now else { continue }
            guard let account = self.pages[index].schedules[urgency.rawValue].takeDue(at: now) else { continue }
            self.urgent = urgency == .turnedAway ? account : nil
            return account
        }
        return nil
    }

    /// The urgencies in the order in which errands begin now. Of eight errands one is for an account that nobody uses if it
    /// is long overdue: its grant may be lost if it is never refreshed.
    private mutating func order(at now: BootInstant) -> [Urgency] {
        self.taken += 1
        guard self.taken.isMultiple(of: 8), let (due, _) = self.earliest(.unused),
            due.advanced(by: Self.longestDelay) <= now
        else { return Urgency.allCases }
        return Urgency.allCases.reversed()
    }

    private static let longestDelay = Duration.seconds(600)

    /// Records that an errand of an account begins.
    ///
    /// - Parameter until: when the errand stops counting, even if it has not ended.
    package mutating func begin(_ account: AccountID, of provider: ProviderID, until: BootInstant) {
        let page = self.page(of: provider)
        if self.urgent == account {
            self.pages[page].urgentJobs[account] = until
        } else {
            self.pages[page].backgroundJobs[account] = until
        }
    }

    /// Records that the account's errand has ended.
    package mutating func end(_ account: AccountID, of provider: ProviderID) {
        let page = self.page(of: provider)
        self.pages[page].backgroundJobs[account] = nil
        self.pages[page].urgentJobs[account] = nil
    }

    private mutating func earliest(_ urgency: Urgency) -> (due: BootInstant, index: Int)? {
        var earliest: (due: BootInstant, index: Int)?
        for index in self.pages.indices {
            guard let next = self.pages[index].schedules[urgency.rawValue].next else { continue }
            let due = max(next, self.pages[index].roomAt(urgency))
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
