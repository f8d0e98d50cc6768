package import TokenModel
internal import TokenStorage

extension FaultyTokenStore {
    package enum Operation: String, Hashable, Sendable, CaseIterable { case read, write, remove, records }

    /// What happens to a call.
    package enum Fault: Equatable, Sendable {
        case none
        /// The call throws `.unreachable` and is not performed.
        case away
        /// Writes throw `.unwritable`. Reads are performed.
        case full
        /// The call throws `.unreachable`, but is performed.
        case unanswered
        /// The call throws `.unreachable`. A write is performed after `calls` further calls of any connection, or by
        /// ``landLateWrites()``, still with compare-and-set.
        case late(calls: Int)
        /// A read returns the state of `commits` commits ago, as from an old primary that does not know of a failover.
        /// The state is never older than this connection's own last write. Writes are not affected.
        case stale(commits: Int)
        /// As `stale`, but the state may be older than this connection's own writes. No store may do that.
        case forgetful(commits: Int)
        /// The call waits for ``recover()`` and then continues.
        case stalled
        /// A write is acknowledged but not performed. A store may do that only by losing a suffix of its commits.
        case forgotten
        /// One bit of the value read is flipped.
        case spoiled
    }

    /// A call, before it is performed.
    package struct Call: Sendable {
        package let operation: Operation
        /// The key, or the listed prefix.
        package let place: String
        /// The written version, if the call writes one.
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
    /// How many commits ago the state is that a read returns.
    var age: Int {
        switch self {
        case .stale(let commits), .forgetful(let commits): commits
        case .none, .away, .full, .unanswered, .late, .stalled, .forgotten, .spoiled: 0
        }
    }
}
