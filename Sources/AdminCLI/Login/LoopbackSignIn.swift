package import TokenModel

/// A sign-in whose answer comes to a port of this machine.
package struct LoopbackSignIn: Sendable {
    private let session: SignInSession
    private let listener: LoopbackListener
    private let clock: Timepiece

    /// How long the command stays after the end, for the browser to get the page about it.
    private static let patience = Duration.seconds(2)

    private typealias Ending = Result<SignInOutcome, CommandFailure>

    package init(_ session: SignInSession, at listener: LoopbackListener, clock: Timepiece) {
        self.session = session
        self.listener = listener
        self.clock = clock
    }

    /// Serves the browser until the sign-in has ended.
    package func outcome() async throws(CommandFailure) -> SignInOutcome {
        let (endings, ending) = AsyncStream.makeStream(of: Ending.self)
        let first = await withTaskGroup(of: Ending?.self) { tasks in
            tasks.addTask {
                await self.listener.run { answer in await self.take(answer, ending) }
                return nil
            }
            tasks.addTask {
                for await ending in endings {
                    await self.listener.awaitReader(within: Self.patience, clock: self.clock)
                    return ending
                }
                return nil
            }
            tasks.addTask { await self.expiry() }
            defer { tasks.cancelAll() }
            while let next = await tasks.next() {
                if let next { return next }
            }
            return .failure(SignInSession.cancelled)
        }
        return try first.get()
    }

    /// Hands an answer to the gateway.
    private func take(
        _ answer: SignInAnswer,
        _ ending: AsyncStream<Ending>.Continuation
    ) async -> LoopbackListener.Response {
        do throws(CommandFailure) {
            switch try await self.session.answer(answer) {
            case .refused(let reason): return .refused(reason: reason)
            case .ended(let outcome):
                ending.yield(.success(outcome))
                return .over(.outcome(outcome.signIn))
            }
        } catch {
            ending.yield(.failure(error))
            return .over(.failure)
        }
    }

    /// The outcome if the sign-in's time is over and no answer is under way.
    private func expiry() async -> Ending? {
        await self.clock.rest(until: self.session.expires)
        guard !Task.isCancelled else { return nil }
        do throws(CommandFailure) { return .success(try await self.session.outcome()) } catch { return .failure(error) }
    }
}
