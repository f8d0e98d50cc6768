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
            try await simulation.run { try await function() }
        }
        let arguments = testCase.map { "\($0)" } ?? ""
        try simulation.trace.write(as: "\(test.id)\(arguments.isEmpty ? "" : " \(arguments.hashValue)")")
    }
}

extension Trait where Self == SimulatedTest {
    /// Runs in simulated time, on one thread, by a seed.
    package static var simulated: Self { Self() }
}
