import NIOCore
import Synchronization
package import TokenModel

/// What the kill switch asks of the data path.
extension ProxyServer {
    /// Has every event loop go by a kill log, unless that is older than the one it goes by. When it returns no request
    /// leaves any more with a token that is dead by it, and those under way that carry one are closed, or may end.
    ///
    /// On each loop, within one tick: dead passes leave their slots, and none is put there from then on, whoever
    /// announces it. Requests that wait for an account that is killed are answered so. Of those that carry a dead token,
    /// the ones whose head the kernel does not have are closed without it, and the others are cut on both sides, so that no
    /// half answer looks whole, or left to end where ``KillEpochs/mayEnd(with:of:at:)`` says so. A caller that has got
    /// nothing of an answer is answered `killed`.
    ///
    /// Calling it again does no harm.
    ///
    /// - Parameter providers: whose tokens each account is configured for, to tell whether those that wait wait in vain.
    ///   Of an account that is not there, its last pass tells.
    package func fence(
        _ epochs: KillEpochs,
        providers: [AccountID: ProviderID] = [:]
    ) async -> FencedExchanges {
        var answers: [EventLoopFuture<FencedExchanges>] = []
        self.ifLoopsRun {
            self.running.withLock { $0.passes.fence(epochs) }
            answers = self.loops.map { loop in
                loop.eventLoop.submit { loop.value.fence(epochs, providers: providers) }
            }
        }
        var fenced = FencedExchanges()
        // It fails where the loop has ended in the meantime, and all of its connections have with it.
        for answer in answers { fenced += (try? await answer.get()) ?? FencedExchanges() }
        return fenced
    }

    /// The kill log that the event loops go by, or have been told to.
    package var epochs: KillEpochs { self.running.withLock { $0.passes.epochs } }

    /// Sets the moment from which on no token leaves, until it is set anew. Before the first call there is none.
    ///
    /// A request that comes later asks the ``PassSource`` as if it had no pass. Whoever renews the lease there does it by
    /// this, before giving the pass: what is done to the loops comes to them in order.
    package func inject(until end: BootInstant) {
        self.ifLoopsRun {
            for loop in self.loops { loop.eventLoop.execute { loop.value.inject(until: end) } }
        }
    }
}
