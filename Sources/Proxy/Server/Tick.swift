/// Coarse time of one event loop: how often its sweep has run. Reading it costs nothing, so requests are stamped with it.
struct Tick: Equatable {
    /// How often the sweep runs; timeouts are late by up to this.
    static let period = Duration.milliseconds(250)
    static let start = Tick(count: 0)

    private var count: Int64

    func duration(since earlier: Tick) -> Duration {
        Self.period * Double(self.count - earlier.count)
    }

    mutating func advance() { self.count += 1 }
}
