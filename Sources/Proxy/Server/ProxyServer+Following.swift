import Listening
import NIOCore
import Synchronization
package import Telemetry

/// Going by another configuration while requests are under way.
extension ProxyServer {
    /// Takes over the routes, callers, limits and certificates of `plan`; its listeners and event loops stay as they are.
    ///
    /// Requests under way go on by the route that they began with. From the next one on, new connection or old, the
    /// caller has to prove itself to the new plan. It comes back when every event loop goes by it, and not before is it
    /// called again.
    ///
    /// - Parameter accessLog: takes a line per request; `nil` writes none.
    /// - Returns: whose certificates are others now.
    package func follow(_ plan: ProxyPlan, accessLog: LogWriter? = nil) async -> CertificateRenewal {
        let renewal = self.renewCertificates(from: plan)
        self.limits.follow(plan)
        // Others may not come before they are asked for keys, nor while they are not.
        let mode = plan.unixSocketMode
        let files = self.socketFiles.withLock { $0 }
        if plan.callers == nil { for file in files { file.setMode(mode) } }
        let made = RunningTables(
            plan,
            hosts: self.plan.hostFields,
            accessLog: accessLog,
            following: self.running.withLock { $0 }
        )
        var swaps: [EventLoopFuture<Void>] = []
        self.ifLoopsRun {
            let tables = self.running.withLock { running in
                var tables = made
                // As they are at this moment: what comes behind it comes as an event.
                tables.passes = running.passes
                running = tables
                return tables
            }
            swaps = self.loops.map { loop in loop.eventLoop.submit { loop.value.follow(tables) } }
        }
        // It fails where the loop has ended in the meantime.
        for swap in swaps { try? await swap.get() }
        if plan.callers != nil { for file in files { file.setMode(mode) } }
        return renewal
    }

    /// Names of the routes, in the order in which ``traffic()`` counts them; with those that were there before.
    package var routeNames: [String] { self.running.withLock { $0.table.names } }
}
