/// What all that belongs to one event loop asks of it with each request: an object of its own, so that nobody holds the loop
/// for it, nor asks whether that is there still.
final class LoopState {
    /// How often the sweep has run.
    private(set) var tick = Tick.start
    /// The loop takes no more requests.
    private(set) var isDraining = false

    /// The sweep runs.
    func advance() { self.tick.advance() }

    func drain() { self.isDraining = true }
}
