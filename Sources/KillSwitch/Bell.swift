/// Wakes one task that listens. What rings several times before it listens again has rung once.
struct Bell: Sendable {
    let rings: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (self.rings, self.continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func ring() { self.continuation.yield() }

    /// The listener is done.
    func finish() { self.continuation.finish() }
}
