/// One disturbance, as `PUT /_control/faults` describes it.
package struct FaultRule: Sendable {
    package let point: FaultPoint

    /// The path that a request must have, without its query. Nil matches any path.
    package let path: String?

    /// The number of requests that the rule applies to. 0 means all requests until the rules are replaced.
    package let times: Int

    /// The wait before a request is processed.
    package let delay: Duration

    /// The wait between processing and the response.
    package let delayAnswer: Duration

    package let drop: FaultDrop?

    /// The response sent instead of processing, if the rule has a status, headers or a body.
    package let response: MockResponse?

    package init(
        on point: FaultPoint,
        path: String? = nil,
        times: Int = 1,
        delay: Duration = .zero,
        delayAnswer: Duration = .zero,
        drop: FaultDrop? = nil,
        response: MockResponse? = nil
    ) {
        self.point = point
        self.path = path
        self.times = times
        self.delay = delay
        self.delayAnswer = delayAnswer
        self.drop = drop
        self.response = response
    }

    /// Whether the rule applies to a request to `path` at `point`, regardless of `times`.
    package func covers(_ point: FaultPoint, path: String) -> Bool {
        self.point == point && (self.path ?? path) == path
    }
}

/// The kind of request that a fault rule applies to.
package enum FaultPoint: String, Sendable, Decodable {
    /// `POST /oauth/token`.
    case token

    /// `POST /oauth/revoke`.
    case revoke

    /// Everything below `/api/`.
    case api
}

/// When a fault rule closes the connection to the client.
package enum FaultDrop: String, Sendable, Decodable {
    /// The mock processes nothing and sends nothing.
    case before

    /// The mock processes the request and sends nothing. The client can't know that the request was processed.
    case afterCommit = "after_commit"

    /// The mock processes the request and sends the head and half of the body.
    case midBody = "mid_body"
}

/// The rules in force and how often each may still apply.
package struct FaultList: Sendable {
    private var rules: [(rule: FaultRule, left: Int)] = []

    package init() {}

    /// Replaces the rules in force and their counts.
    package mutating func replace(with rules: [FaultRule]) {
        self.rules = rules.map { ($0, $0.times) }
    }

    /// Returns the first rule that covers the request and has uses left, and takes one use from it.
    package mutating func take(for point: FaultPoint, path: String) -> FaultRule? {
        let match = self.rules.firstIndex { entry in
            entry.rule.covers(point, path: path) && (entry.rule.times == 0 || entry.left > 0)
        }
        guard let match else { return nil }
        self.rules[match].left -= self.rules[match].rule.times == 0 ? 0 : 1
        return self.rules[match].rule
    }
}

extension FaultRule {
    /// Applies a rule to one request.
    ///
    /// - Parameters:
    ///   - rule: nil when no rule applies to the request.
    ///   - struck: called once if the rule prevents the processing of the request.
    ///   - process: performs the request.
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
