internal import Simulation
internal import TestKit

/// Carries requests to a store and to a provider. Both go on by themselves while a process that has asked is stopped or
/// ends.
final class Network: Sendable {
    let simulation: Simulation
    let chance: Chance

    init(_ simulation: Simulation, _ chance: Chance) {
        self.simulation = simulation
        self.chance = chance
    }

    /// How long one way takes.
    func way(upTo longest: Duration = .milliseconds(10)) -> Duration { longest * self.chance.fraction }

    func pause(_ duration: Duration) async { try? await self.simulation.sleep(for: duration) }

    /// Makes a call that is carried out even if nobody waits for it any more.
    ///
    /// - Parameters:
    ///   - there, back: how long the request and the response take.
    ///   - limit: how long the caller waits.
    ///   - otherwise: what the caller gets then.
    ///   - ended: called when the caller's wait is over, before the caller runs on.
    func call<Answer: Sendable>(
        there: Duration,
        back: Duration,
        within limit: Duration,
        otherwise: Answer,
        ended: @escaping @Sendable (Answer) -> Void = { _ in },
        _ perform: @escaping @Sendable () async -> Answer
    ) async -> Answer {
        await withCheckedContinuation { caller in
            let simulation = self.simulation
            Task(executorPreference: simulation) {
                func answer(_ answer: Answer) {
                    ended(answer)
                    caller.resume(returning: answer)
                }
                await self.pause(min(there, limit))
                guard there <= limit else {
                    answer(otherwise)
                    await self.pause(there - limit)
                    _ = await perform()
                    return
                }
                let result = await perform()
                await self.pause(min(back, limit - there))
                answer(there + back <= limit ? result : otherwise)
            }
        }
    }
}
