package import TokenModel

/// Which accounts' records may hold killed tokens. Only those are read: a gateway has a hundred thousand accounts, and
/// most entries of the kill log concern one.
package struct SweepDemand: Equatable, Sendable {
    /// What is to be read.
    package enum Work: Equatable, Sendable {
        case nothing
        case accounts(Set<AccountID>)
        case all
    }

    /// At the start all, because an earlier process may have ended before it was done.
    private var work = Work.all
    /// Whether what was taken is still being read.
    private var isInProgress = false

    /// With more accounts, reading all is cheaper.
    private static let mostAccounts = 1_000

    package init() {}

    /// Whether all was read, and nothing is to be read.
    package var isMet: Bool { self.work == .nothing && !self.isInProgress }

    /// Nothing is to be read twice.
    package mutating func add(_ more: Work) {
        switch (self.work, more) {
        case (_, .nothing), (.all, _): return
        case (_, .all): self.work = .all
        case (.nothing, .accounts(let accounts)): self.addAll(of: [], accounts)
        case (.accounts(let known), .accounts(let accounts)): self.addAll(of: known, accounts)
        }
    }

    private mutating func addAll(of known: Set<AccountID>, _ more: Set<AccountID>) {
        let accounts = known.union(more)
        self.work = accounts.isEmpty ? .nothing : accounts.count > Self.mostAccounts ? .all : .accounts(accounts)
    }

    /// Adds what an entry of the kill log kills.
    package mutating func add(_ entry: KillEntry) {
        guard !entry.killsNothing else { return }
        switch entry.scope {
        case .account(let account): self.add(.accounts([account]))
        case .all, .provider: self.add(.all)
        }
    }

    /// Returns all of it, once. Call ``end(left:)`` when it was read.
    package mutating func take() -> Work {
        defer { self.work = .nothing }
        self.isInProgress = self.work != .nothing
        return self.work
    }

    /// What was taken was read, except for what is left.
    package mutating func end(left: Work) {
        self.isInProgress = false
        self.add(left)
    }
}
