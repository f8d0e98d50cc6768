package import Listening
import Synchronization

/// How many connections one address may have, over all event loops.
package final class AddressLimit: Sendable {
    private let most: Atomic<Int>
    private let counts = Mutex<[PeerNetwork: Int]>([:])

    /// - Parameter limit: 0 for any number.
    package init(_ limit: Int) {
        self.most = Atomic(limit)
    }

    /// How many; 0 for any number. What came while there was no limit is not counted.
    package var limit: Int {
        get { self.most.load(ordering: .relaxed) }
        set { self.most.store(newValue, ordering: .relaxed) }
    }

    /// There is a limit at all.
    package var isSet: Bool { self.limit > 0 }

    /// Addresses that have connections now.
    package var count: Int { self.counts.withLock(\.count) }

    /// Takes a place of an address, if it has one left.
    package func enter(_ address: PeerNetwork) -> Bool {
        let limit = self.limit
        return self.counts.withLock { counts in
            let count = counts[address] ?? 0
            guard count < limit || limit == 0 else { return false }
            counts[address] = count + 1
            return true
        }
    }

    /// Gives a place back.
    package func leave(_ address: PeerNetwork) {
        self.counts.withLock { counts in
            // Else each address that ever came would be remembered.
            counts[address] = counts[address].flatMap { $0 > 1 ? $0 - 1 : nil }
        }
    }
}
