/// One disturbance, as `PUT /_control/faults` describes it.
package struct FaultRule: Sendable {
    package let point: FaultPoint

    /// The path that a request must have, without its query; nil for any.
    package let path: String?

    /// How many requests it strikes; 0 for all until the rules are replaced.
    package let times: Int

    /// The wait before a request is processed.
    package let delay: Duration

    /// The wait between processing and the answer.
    package let delayAnswer: Duration

    package let drop: FaultDrop?

    /// The answer given instead of processing, where the rule has a status, headers or a body.
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

    /// Whether it has anything to say about a request to `path` at `point`.
    package func covers(_ point: FaultPoint, path: String) -> Bool {
        self.point == point && (self.path ?? path) == path
    }
}

/// Where a fault rule strikes.
package enum FaultPoint: String, Sendable, Decodable {
    /// `POST /oauth/token`.
    case token

    /// `POST /oauth/revoke`.
    case revoke

    /// Everything below `/api/`.
    case api
}

/// How a fault rule closes the connection on a client.
package enum FaultDrop: String, Sendable, Decodable {
    /// Nothing is processed, nothing is sent.
    case before

    /// Everything is processed, nothing is sent: the client can't know that it happened.
    case afterCommit = "after_commit"

    /// Everything is processed; the head and half of the body are sent.
    case midBody = "mid_body"
}

/// The rules in force and how often each may still strike.
package struct FaultList: Sendable {
    private var rules: [(rule: FaultRule, left: Int)] = []

    package init() {}

    /// Forgets the rules in force and takes these.
    package mutating func replace(with rules: [FaultRule]) {
        self.rules = rules.map { ($0, $0.times) }
    }

    /// The first rule with times left that covers the request, one time the poorer.
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
