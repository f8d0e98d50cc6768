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
