package import TokenModel

/// Sums up the events of accounts in families, so that a provider that fails for 100,000 accounts is one alert a minute
/// and not 100,000. Events of one family, kind and provider are one sum.
///
///     add ──▶ open ──due, or flush──▶ gone
///
/// The first event opens a sum, and each event comes out in exactly one sum, of ``due(now:)`` or ``flush()``. There is one
/// exception: a request waits 30 s for an approval by default, so of a series of ``RefreshEvent/Kind/approvalRequired`` the first
/// comes out at once, of ``add(_:_:of:now:)``, and those of the following minute are summed up. Keeps at most one sum for
/// each family and kind, whatever the number of accounts.
package struct EventDigest: Sendable {
    /// The events of one sum.
    package struct Sum: Equatable, Sendable {
        package let family: AccountFamily
        /// Its time and reason are those of all.
        package fileprivate(set) var first: RefreshEvent
        /// The first accounts, each once, up to ``mostAccounts``.
        package fileprivate(set) var accounts: [AccountID]
        /// The number of events.
        package fileprivate(set) var count: Int

        package static let mostAccounts = 20

        fileprivate init(_ family: AccountFamily, _ first: RefreshEvent) {
            (self.family, self.first, self.accounts, self.count) = (family, first, [], 0)
        }

        fileprivate mutating func add(_ event: RefreshEvent, _ account: AccountID) {
            if self.count == 0 { self.first = event }
            self.count += 1
            if self.accounts.count < Self.mostAccounts, !self.accounts.contains(account) {
                self.accounts.append(account)
            }
        }
    }

    private struct Key: Hashable {
        let family: AccountFamily
        let kind: RefreshEvent.Kind
        let provider: ProviderID
    }

    private let length: Duration
    private var open: [Key: (sum: Sum, until: BootInstant)] = [:]

    /// - Parameter length: how long a sum stays open.
    package init(length: Duration) {
        self.length = length
    }

    /// When to call ``due(now:)`` next; `nil` if no sum is open.
    package var nextDue: BootInstant? { self.open.values.lazy.map(\.until).min() }

    /// Adds an event of an account in `family`.
    ///
    /// - Returns: the event, if it comes out at once.
    package mutating func add(
        _ event: RefreshEvent,
        _ account: AccountID,
        of family: AccountFamily,
        now: BootInstant
    ) -> Sum? {
        let key = Key(family: family, kind: event.kind, provider: event.provider)
        let isFirst = self.open[key] == nil
        var sum = self.open[key]?.sum ?? Sum(family, event)
        sum.add(event, account)
        let until = self.open[key]?.until ?? now.advanced(by: self.length)
        guard isFirst, event.kind == .approvalRequired else {
            self.open[key] = (sum, until)
            return nil
        }
        self.open[key] = (Sum(family, event), until)
        return sum
    }

    /// Closes the sums whose time is over. The oldest comes first.
    package mutating func due(now: BootInstant) -> [Sum] {
        let due = self.open.filter { $0.value.until <= now }
        for (key, (sum, _)) in due {
            let goesOn = key.kind == .approvalRequired && sum.count > 0
            self.open[key] = goesOn ? (Sum(sum.family, sum.first), now.advanced(by: self.length)) : nil
        }
        return Self.sorted(due)
    }

    /// Closes all sums.
    package mutating func flush() -> [Sum] {
        defer { self.open = [:] }
        return Self.sorted(self.open)
    }

    private static func sorted(_ open: [Key: (sum: Sum, until: BootInstant)]) -> [Sum] {
        open.sorted { left, right in
            (left.value.until, left.key.family, left.key.kind.rawValue, left.key.provider)
                < (right.value.until, right.key.family, right.key.kind.rawValue, right.key.provider)
        }
        .map(\.value.sum)
        .filter { $0.count > 0 }
    }
}
