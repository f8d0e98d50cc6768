internal import Synchronization
package import TokenModel

/// Counts token requests to providers. They are rare, so it uses a lock.
package final class RefreshMeter: Sendable {
    /// The counts of one provider.
    package struct Provider: Sendable {
        package let id: ProviderID
        /// Sorted by name.
        package let outcomes: [(name: String, count: UInt64)]
        package let durations: DurationCounts
    }

    private struct Counts {
        var outcomes: [String: UInt64]
        var durations = DurationCounts()
    }

    private let counts: Mutex<[ProviderID: Counts]>
    private let none: Counts

    /// - Parameters:
    ///   - providers: the providers of the configuration; others are not counted.
    ///   - outcomes: the outcomes to show from the start, as zero.
    package init(_ providers: [ProviderID], outcomes: [String]) {
        let none = Counts(outcomes: Dictionary(outcomes.map { ($0, 0) }) { first, _ in first })
        self.none = none
        self.counts = Mutex(Dictionary(providers.map { ($0, none) }) { first, _ in first })
    }

    /// Counts these providers too. Existing counts stay, because a counter must not fall.
    package func reload(_ providers: [ProviderID]) {
        self.counts.withLock { counts in
            for provider in providers where counts[provider] == nil { counts[provider] = self.none }
        }
    }

    /// Counts a token request that has ended.
    ///
    /// - Parameter outcome: one word of a fixed set.
    package func add(_ outcome: String, of provider: ProviderID, took time: Duration) {
        self.counts.withLock { counts in
            counts[provider]?.outcomes[outcome, default: 0] += 1
            counts[provider]?.durations.add(nanoseconds: time.clampedNanoseconds)
        }
    }

    /// Sorted by ID.
    package var providers: [Provider] {
        self.counts.withLock { $0 }.sorted { $0.key < $1.key }.map { id, counts in
            Provider(
                id: id,
                outcomes: counts.outcomes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) },
                durations: counts.durations
            )
        }
    }
}
