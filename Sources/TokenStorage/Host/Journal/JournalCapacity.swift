/// How much room a journal has, and for how long it keeps what the store has taken.
package struct JournalCapacity: Equatable, Sendable {
    /// In bytes; all of it is taken from the disk at the start, so that a full disk does not matter later.
    package let fileSize: Int
    /// How long an entry stays that the store has acknowledged: a failover may lose it there. Zero where none does.
    package let retention: Duration

    package init(fileSize: Int, retention: Duration = .zero) {
        self.fileSize = fileSize
        self.retention = retention
    }

    /// Of a store that this host's processes alone use, before anything is known of its providers.
    package static let least = JournalCapacity(fileSize: Self.leastSize)

    /// The same with no more room than that.
    var least: JournalCapacity { JournalCapacity(fileSize: Self.leastSize, retention: self.retention) }

    /// For as many refreshes as may be under way when the store goes away, or as happen while a store that may lose its last
    /// writes can still lose them.
    ///
    /// - Parameters:
    ///   - refreshesPerSecond: of all providers together.
    ///   - burst: how many more at once.
    package init(refreshesPerSecond: Int, burst: Int, on guarantees: StoreGuarantees) {
        let isShared = guarantees.reach == .network
        self.retention = isShared ? .seconds(600) : .zero
        let most = Self.largestSize / Self.entrySize
        let entries = min(refreshesPerSecond, most) * (isShared ? 600 : 60) + min(burst, most)
        self.fileSize = max(min(entries, most) * Self.entrySize, Self.leastSize)
    }

    /// In bytes, of a usual entry: two tokens of some hundred bytes each.
    private static let entrySize = 2_048
    private static let leastSize = 1 << 20
    /// No journal is larger: whoever takes it over reads it whole.
    static let largestSize = 64 << 20
}
