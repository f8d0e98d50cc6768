extension FaultRule {
    /// Lets a rule disturb one request.
    ///
    /// - Parameters:
    ///   - rule: nil when no rule strikes it.
    ///   - struck: called once when the rule keeps the request from being processed.
    ///   - process: does what was asked for.
    static func reply(
        under rule: FaultRule?,
        struck: () -> Void,
        process: () async throws -> MockResponse
    ) async throws -> Reply {
        guard let rule else { return .whole(try await process()) }
        try await Task.sleep(for: rule.delay)
        if rule.drop == .before {
            struck()
            return .nothing
        }
        let response: MockResponse
        if let canned = rule.response {
            struck()
            response = canned
        } else {
            response = try await process()
        }
        try await Task.sleep(for: rule.delayAnswer)
        return switch rule.drop {
        case .afterCommit: .nothing
        case .midBody: .half(response)
        case .before, nil: .whole(response)
        }
    }
}
