import Testing

/// Asks until the answer is yes, for at most a minute if nothing else is said.
func eventually(
    within limit: Duration = .seconds(60),
    _ question: () async throws -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let deadline = ContinuousClock.now.advanced(by: limit)
    while ContinuousClock.now < deadline {
        if try await question() { return }
        try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("it never came true", sourceLocation: sourceLocation)
}
