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
        process: () async throws -> Answer
    ) async throws -> Reply {
        guard let rule else { return .whole(try await process()) }
        try await Task.sleep(for: rule.delay)
        if rule.drop == .before {
            struck()
            return .nothing
        }
        let answer: Answer
        if let canned = rule.answer {
            struck()
            answer = canned
        } else {
            answer = try await process()
        }
        try await Task.sleep(for: rule.delayAnswer)
        return switch rule.drop {
        case .afterCommit: .nothing
        case .midBody: .half(answer)
        case .before, nil: .whole(answer)
        }
    }
}
