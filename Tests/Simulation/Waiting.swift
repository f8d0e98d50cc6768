package import Testing
internal import TokenModel

/// The error of a test that can't go on, or that waited for something in vain.
package struct Stuck: Error, CustomStringConvertible {
    package let description: String
}

extension Simulation {
    /// The simulation of the current test, which has the trait ``Testing/Trait/simulated``.
    package static var running: Simulation {
        guard let current else { preconditionFailure("a test without the trait .simulated asks for its simulation") }
        return current
    }
}

/// Runs everything until `condition` holds. Time passes only as far as it takes.
///
/// - Parameters:
///   - what: what the condition means, for the error.
///   - limit: how much simulated time may pass. Without it, the condition must hold before any time passes.
/// - Throws: ``Stuck`` if the condition never holds.
package func until(
    _ what: String,
    within limit: Duration = .zero,
    at place: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let simulation = Simulation.running
    let begin = simulation.now
    let end = begin.advanced(by: limit)
    await simulation.settle()
    while !(try await condition()) {
        try Task.checkCancellation()
        guard simulation.now < end, await simulation.step(), simulation.now <= end else {
            throw Stuck(description: "waited \(begin.duration(to: simulation.now)) for \(what) (\(place))")
        }
    }
}
