import TokenModel

/// What was counted of one route's requests.
package struct RouteCounts: Sendable {
    private var statusClasses = InlineArray<7, UInt64>(repeating: 0)
    private var replays = InlineArray<5, UInt64>(repeating: 0)
    package private(set) var durations = DurationCounts()
    /// Heads that left with a token; a request that is sent again leaves twice.
    package internal(set) var injections: UInt64 = 0

    package init() {}

    package subscript(statusClass: StatusClass) -> UInt64 { self.statusClasses[statusClass.rawValue] }

    package subscript(outcome: ReplayOutcome) -> UInt64 { self.replays[outcome.rawValue] }

    /// Counts a request that is over.
    package mutating func add(_ record: RequestRecord) {
        self.statusClasses[StatusClass(status: record.status).rawValue] &+= 1
        self.durations.add(nanoseconds: record.endedAt.nanoseconds &- record.startedAt.nanoseconds)
        if let outcome = ReplayOutcome(record.replay) { self.replays[outcome.rawValue] &+= 1 }
    }

    /// Adds what another has counted.
    package mutating func add(_ other: RouteCounts) {
        for index in self.statusClasses.indices { self.statusClasses[index] &+= other.statusClasses[index] }
        for index in self.replays.indices { self.replays[index] &+= other.replays[index] }
        self.durations.add(other.durations)
        self.injections &+= other.injections
    }
}
