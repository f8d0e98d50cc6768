import Synchronization
import TokenModel
import TokenStorage

/// A journal in memory that a test can make unwritable.
final class ListedJournal: SuccessJournal {
    private struct State {
        var isWritable = true
        var kept: [JournalPlace: AccountRecord] = [:]
        var asked = 0
    }

    private let state = Mutex(State())

    var kept: [AccountRecord] { self.state.withLock { Array($0.kept.values) } }
    /// The number of calls of ``keep(_:for:)``.
    var asked: Int { self.state.withLock { $0.asked } }

    func spoil() { self.state.withLock { $0.isWritable = false } }

    func keep(_ record: AccountRecord, for account: AccountID) async -> JournalPlace? {
        self.state.withLock { state in
            state.asked += 1
            guard state.isWritable else { return nil }
            let place = JournalPlace(blocks: state.asked..<state.asked + 1)
            state.kept[place] = record
            return place
        }
    }

    func release(_ place: JournalPlace) async {
        self.state.withLock { $0.kept[place] = nil }
    }
}

/// Reports exactly the incarnations in ``dead`` as dead.
struct ListedWitness: IncarnationWitness {
    let dead: Set<IncarnationID>

    func isDead(_ incarnation: IncarnationID) async -> Bool { self.dead.contains(incarnation) }
}
