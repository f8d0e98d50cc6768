package import TokenModel

/// One due time per account, the earliest first.
///
/// A heap. Outdated entries are skipped when they reach the top, so that changing a due time needs no search.
package struct Schedule: Sendable {
    private struct Entry: Sendable {
        let due: BootInstant
        let account: AccountID

        func precedes(_ other: Entry) -> Bool {
            (self.due, self.account) < (other.due, other.account)
        }
    }

    private var dues: [AccountID: BootInstant] = [:]
    private var heap: [Entry] = []

    package init() {}

    /// The number of accounts with a due time.
    package var count: Int { self.dues.count }

    /// Sets an account's due time, in place of any earlier one; `nil` removes the account.
    package mutating func set(_ due: BootInstant?, for account: AccountID) {
        guard self.dues[account] != due else { return }
        self.dues[account] = due
        if let due { self.push(Entry(due: due, account: account)) }
        if self.heap.count > 2 * self.dues.count + 64 { self.rebuild() }
    }

    /// The earliest due time; `nil` if there is none.
    package var next: BootInstant? {
        mutating get {
            self.dropOutdated()
            return self.heap.first?.due
        }
    }

    /// Removes and returns the account with the earliest due time, if that has come.
    package mutating func takeDue(at now: BootInstant) -> AccountID? {
        self.dropOutdated()
        guard let first = self.heap.first, first.due <= now else { return nil }
        self.pop()
        self.dues[first.account] = nil
        return first.account
    }

    private mutating func dropOutdated() {
        while let first = self.heap.first, self.dues[first.account] != first.due { self.pop() }
    }

    private mutating func rebuild() {
        self.heap = []
        self.heap.reserveCapacity(self.dues.count)
        for (account, due) in self.dues { self.push(Entry(due: due, account: account)) }
    }

    private mutating func push(_ entry: Entry) {
        self.heap.append(entry)
        var index = self.heap.count - 1
        while index > 0, self.heap[index].precedes(self.heap[(index - 1) / 2]) {
            self.heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func pop() {
        self.heap.swapAt(0, self.heap.count - 1)
        self.heap.removeLast()
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < self.heap.count && self.heap[child].precedes(self.heap[least]) { least = child }
            guard least != index else { return }
            self.heap.swapAt(index, least)
            index = least
        }
    }
}
