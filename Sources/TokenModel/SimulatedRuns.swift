// What a simulation puts in the place of the system: where tasks run, and what is drawn at random. A gateway sets neither.

/// Tasks that belong to an object instead of a task above them: it cancels them, or they end by themselves.
package enum OwnedTasks {
    /// Where they run; `nil` for the system's threads. A simulation sets it, because such a task does not take over the
    /// executor of the task that starts it.
    @TaskLocal package static var executor: (any TaskExecutor)?
}

/// Where ids, gaps between versions and jitter come from: the system's random source, unless a simulation has one with
/// a seed, so that its runs can be repeated.
///
/// Keys, nonces and what else must be secret come from the system's source itself.
package struct Randomness: RandomNumberGenerator, Sendable {
    /// A source in place of the system's. It is a type of its own, because a task-local value of a function type crashes
    /// in optimized builds (Swift 6.3).
    package struct Source: Sendable {
        fileprivate let draw: @Sendable () -> UInt64
        package init(_ draw: @escaping @Sendable () -> UInt64) { self.draw = draw }
    }

    /// The source in place of the system's, for the tasks below the one that set it. Nothing sets it in a gateway.
    @TaskLocal package static var simulated: Source?

    package init() {}

    package mutating func next() -> UInt64 {
        if let simulated = Self.simulated { return simulated.draw() }
        var system = SystemRandomNumberGenerator()
        return system.next()
    }
}

extension FixedWidthInteger {
    /// A number in `range`, which nobody has to guess.
    package static func drawn(in range: ClosedRange<Self>) -> Self {
        var source = Randomness()
        return .random(in: range, using: &source)
    }
}

extension Double {
    /// A number in `range`, which nobody has to guess.
    package static func drawn(in range: ClosedRange<Double>) -> Double {
        var source = Randomness()
        return .random(in: range, using: &source)
    }
}
