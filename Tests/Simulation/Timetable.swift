/// What is to happen, in the order of its times; what is due at one time, in the order in which it was added.
package struct Timetable<Event> {
    /// The latest first.
    private var entries: [(at: Duration, event: Event)] = []

    package init() {}

    package mutating func add(_ event: Event, at time: Duration) {
        var (low, high) = (0, self.entries.count)
        while low < high {
            let middle = (low + high) / 2
            if self.entries[middle].at > time { low = middle + 1 } else { high = middle }
        }
        self.entries.insert((time, event), at: low)
    }

    /// Takes out what is due first; `nil` if there is nothing.
    package mutating func next() -> (at: Duration, event: Event)? { self.entries.popLast() }
}
