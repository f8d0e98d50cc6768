internal import TokenModel

/// Which accounts' records may hold killed tokens. Only those are read: a gateway has a hundred thousand accounts, and
/// most entries of the kill log concern one.
struct SweepDemand: Equatable, Sendable {
    enum Work: Equatable, Sendable {
        case nothing
        case accounts(Set<AccountID>)
        case all
    }

    /// At the start all, because an earlier process may have ended before it was done.
    private var work = Work.all

    /// With more accounts, reading all is cheaper.
    private static let mostAccounts = 1_000

    var isEmpty: Bool { self.work == .nothing }

    mutating func add(_ more: Work) {
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

    /// What an entry of the kill log kills.
    mutating func add(_ entry: KillEntry) {
        guard !entry.killsNothing else { return }
        switch entry.scope {
        case .account(let account): self.add(.accounts([account]))
        case .all, .provider: self.add(.all)
        }
    }

    mutating func take() -> Work {
        defer { self.work = .nothing }
        return self.work
    }
}
