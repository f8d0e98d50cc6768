import Testing

/// Repeats the question until the answer is yes, or records an issue after `limit` (default: a minute).
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
