internal import Foundation
package import Testing

/// Runs each test in a ``Simulation`` of its own.
///
/// The seed is 0, or that of the environment variable `MARTLET_SEED`, which a failing test names.
package struct SimulatedTest: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }

    static let seed = ProcessInfo.processInfo.environment["MARTLET_SEED"].flatMap { UInt64($0) } ?? 0

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let simulation = Simulation("\(test.name)", seed: Self.seed)
        let naming = IssueHandlingTrait.compactMapIssues { issue in
            var issue = issue
            issue.comments.append("MARTLET_SEED=\(simulation.seed)")
            return issue
        }
        try await naming.provideScope(for: test, testCase: testCase) {
            // An error that leaves the scope would be recorded without the seed.
            do { try await simulation.run { try await function() } } catch {
                if !(error is ExpectationFailedError) { Issue.record(error) }
            }
        }
        try simulation.trace.write(of: "\(test.id)")
    }
}

extension Trait where Self == SimulatedTest {
    /// Runs in simulated time, on one thread, by a seed.
    package static var simulated: Self { Self() }
}
