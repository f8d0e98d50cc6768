/// Coarse time of one event loop: how often its sweep has run. Reading it costs nothing, so requests are stamped with it.
package struct Tick: Equatable, Sendable {
    /// How often the sweep runs. A stamp is up to this old when it is made, so limits are exceeded only past one more.
    package static let period = Duration.milliseconds(250)
    package static let start = Tick(count: 0)

    private var count: Int64

    /// How long ago `earlier` was, to within one ``period`` either way.
    package func duration(since earlier: Tick) -> Duration {
        Self.period * Double(self.count - earlier.count)
    }

    /// Written out since it is asked with each request: what the compiler makes is called through a table.
    package static func == (left: Tick, right: Tick) -> Bool { left.count == right.count }

    /// The sweep has run once more.
    package mutating func advance() { self.count += 1 }
}
