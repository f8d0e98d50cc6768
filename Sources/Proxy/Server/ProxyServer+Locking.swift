import NIOCore
import Synchronization

/// A gateway that listens, and uses no token.
extension ProxyServer {
    /// Makes every event loop forget its tokens. When this returns, no head with a token is written any more and no
    /// stored response is sent, until ``unlock()``: a request of a known caller for a known route gets a `locked` reply.
    /// A reload does not change that. Everything announced meanwhile is ignored.
    ///
    /// On each loop, within one tick: all credentials leave their slots, and their lines are overwritten. Requests that
    /// wait, or whose whole head the kernel does not have yet, get a `locked` reply, and the head is not sent. The others
    /// finish, and so does a stored response that is being sent; tunnels stay. Upstream connections close as soon as no
    /// request uses them. Stored responses are freed.
    ///
    /// What may remain of a token in memory: the buffers of TLS and of the kernel, and those of requests in progress.
    ///
    /// - Returns: the number of requests that are left to finish, tunnels included.
    @discardableResult package func lock() async -> Int {
        var locks: [EventLoopFuture<Int>] = []
        self.ifLoopsRun {
            self.running.withLock { $0.credentials.lock() }
            locks = self.loops.map { loop in loop.eventLoop.submit { loop.value.lock() } }
        }
        var left = 0
        // This fails where the loop has ended in the meantime, and all of its requests with it.
        for lock in locks { left += (try? await lock.get()) ?? 0 }
        self.removeDeadResponses()
        return left
    }

    /// Whether the event loops are locked, or have been told to be.
    package var isLocked: Bool { self.running.withLock { $0.credentials.isLocked } }

    /// Takes credentials again. Call it before any are announced: those announced before are lost, and the
    /// ``CredentialSource`` does not announce them again when it is asked.
    package func unlock() {
        self.ifLoopsRun {
            self.running.withLock { $0.credentials.unlock() }
            for loop in self.loops { loop.eventLoop.execute { loop.value.gateway.unlock() } }
        }
    }
}
