internal import AdminAPI
internal import Logging
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Asks the store's server about itself from time to time: what a failover to another server would lose, and what time it
/// is there.
///
/// Replicas on several hosts compare times in records, so all of them go by the server's wall clock.
final class StoreWatch: Sendable {
    private static let interval = Duration.seconds(10)
    /// A larger difference between the clocks is worth a warning.
    private static let largestOffset = Duration.seconds(1)

    private struct State {
        var condition: StoreCondition?
        var isClockOff = false
    }

    /// `nil` if the store has no server.
    private let ask: (@Sendable () async throws(StoreError) -> StoreCondition)?
    private let logger: Logger
    private let state = Mutex(State())
    let correction = ClockCorrection()

    init(_ driver: DriverStore, logger: Logger) {
        self.ask = driver.condition
        self.logger = logger
    }

    /// What the server said last, for `martlet status`; `nil` if the store has none.
    var vitals: GatewayVitals.Store.Server? {
        self.state.withLock(\.condition).map { condition in
            GatewayVitals.Store.Server(
                isReplicated: condition.isReplicated,
                losesNothing: condition.losesNothing,
                connectedReplicas: condition.connectedReplicas,
                clockOffset: self.correction.offset
            )
        }
    }

    /// Asks once.
    func look() async throws(StoreError) {
        guard let ask = self.ask else { return }
        let begin = Timepiece.system.now.wall
        let condition = try await ask()
        self.correction.learn(condition.time, between: begin, and: Timepiece.system.now.wall)
        let isClockOff = abs(self.correction.offset / Self.largestOffset) > 1
        let before = self.state.withLock { state in
            defer { state = State(condition: condition, isClockOff: isClockOff) }
            return state
        }
        if before.condition?.isReplicated != condition.isReplicated { self.tell(condition) }
        if isClockOff, !before.isClockOff {
            self.logger.warning(
                "this host's clock and the store's differ; the store's counts, and this host's needs to be set",
                metadata: ["clock.offset_ms": .stringConvertible(Int64(self.correction.offset / .milliseconds(1)))]
            )
        }
    }

    private func tell(_ condition: StoreCondition) {
        guard condition.losesNothing || !condition.isReplicated else {
            self.logger.notice(
                "the store acknowledges what is on a replica too: a failover to another replica may lose the last writes"
            )
            return
        }
        if condition.isReplicated {
            self.logger.notice(
                "the store acknowledges what is on a synchronous standby too: a failover to it loses nothing"
            )
        } else {
            self.logger.warning(
                "no standby or replica of the store confirms writes: a failover may lose the last ones, and a gateway that is cut off together with the former primary does not learn of kills"
            )
        }
    }

    /// Returns when its task is canceled.
    func run() async {
        let clock = Timepiece.system
        while self.ask != nil, !Task.isCancelled {
            await clock.rest(until: clock.now.boot.advanced(by: Self.interval))
            guard !Task.isCancelled else { return }
            // What was said last stays until the server responds again.
            try? await self.look()
        }
    }
}
