package import TokenModel
internal import TokenStorage

extension FaultyTokenStore {
    package enum Operation: String, Hashable, Sendable, CaseIterable { case read, write, remove, records }

    /// What happens to a call.
    package enum Fault: Equatable, Sendable {
        case none
        /// `.unreachable`, and nothing was done.
        case away
        /// `.unwritable`. Reads go on.
        case full
        /// `.unreachable`, and it was done.
        case unanswered
        /// `.unreachable`, and a write lands when that many further calls were made, by whatever connection, or with
        /// ``landLateWrites()``. It lands by compare-and-set still.
        case late(calls: Int)
        /// A read is answered as it was so many commits ago, as by an old primary that nobody has told; but never as it was
        /// before this connection's own last write. No effect on writes.
        case stale(commits: Int)
        /// The same, and it may be older than this connection's own writes: no store may do that.
        case forgetful(commits: Int)
        /// It waits for ``recover()`` and goes on then.
        case stalled
        /// A write is acknowledged and not done. No store may do that, but by losing a suffix.
        case forgotten
        /// A bit of what is read is flipped.
        case spoiled
    }

    /// A call, before it is done.
    package struct Call: Sendable {
        package let operation: Operation
        /// The key, or the prefix that is listed.
        package let place: String
        /// Version that is written, where one is.
        package let version: Version?

        init(operation: Operation, place: String, version: Version?) {
            self.operation = operation
            self.place = place
            self.version = version
        }

        func isUnder(_ prefix: RecordKey.Prefix) -> Bool {
            self.place.utf8.starts(with: prefix.rawValue.utf8)
                || self.operation == .records && prefix.rawValue.isEmpty
        }
    }
}

extension FaultyTokenStore.Fault {
    /// Of what a read sees, in commits.
    var age: Int {
        switch self {
        case .stale(let commits), .forgetful(let commits): commits
        case .none, .away, .full, .unanswered, .late, .stalled, .forgotten, .spoiled: 0
        }
    }
}
