import Listening
import NIOCore
import Synchronization
package import Telemetry
package import TokenModel

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
    package func reload(_ plan: ProxyConfiguration, accessLog: LogWriter? = nil) async -> CertificateRenewal {
        let renewal = self.renewCertificates(from: plan)
        self.limits.reload(plan)
        // Others may not come before they are asked for keys, nor while they are not.
        let mode = plan.unixSocketMode
        let files = self.socketFiles.withLock { $0 }
        if plan.callers == nil { for file in files { file.setMode(mode) } }
        let made = RoutingSnapshot(
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
                tables.credentials = running.credentials
                running = tables
                return tables
            }
            swaps = self.loops.map { loop in loop.eventLoop.submit { loop.value.reload(tables) } }
        }
        // It fails where the loop has ended in the meantime.
        for swap in swaps { try? await swap.get() }
        if plan.callers != nil { for file in files { file.setMode(mode) } }
        return renewal
    }

    /// Names of the routes, in the order in which ``traffic()`` counts them; with those that were there before.
    package var routeNames: [String] { self.running.withLock { $0.table.names } }
}

/// Whose certificates are others than before.
package struct CertificateRenewal: Equatable, Sendable {
    /// Where callers connect.
    package var listeners: [ProxyConfiguration.Address] = []
    /// Names of routes.
    package var routes: [String] = []

    package init(listeners: [ProxyConfiguration.Address] = [], routes: [String] = []) {
        self.listeners = listeners
        self.routes = routes
    }
}

extension ProxyServer {
    /// Takes over the certificates of `plan`, which has read them anew, for connections made from now on. What is open goes
    /// on with what it began with: a caller's connection to its end, an upstream's to the end of its request.
    ///
    /// It takes those of a listener that stands in the same place with the same address, and those of routes that have
    /// them from the same files. What else `plan` says is left aside.
    package func renewCertificates(from plan: ProxyConfiguration) -> CertificateRenewal {
        let (renewal, upstreams) = self.renew(from: plan)
        self.ifLoopsRun {
            for loop in self.loops { loop.eventLoop.execute { loop.value.renew(upstreams) } }
        }
        return renewal
    }

    /// - Returns: also what upstreams are asked for now that they were not before.
    private func renew(from plan: ProxyConfiguration) -> (CertificateRenewal, upstreams: Set<UpstreamTLS>) {
        var renewal = CertificateRenewal()
        for (mine, other) in zip(self.plan.listeners, plan.listeners) where mine.address == other.address {
            if let tls = mine.tls, let other = other.tls, tls.renew(from: other) {
                renewal.listeners.append(mine.address)
            }
        }
        let table = self.running.withLock { $0.table }
        let read = plan.routes.compactMap(\.upstream.tls)
        var isNews: [UpstreamTLS: Bool] = [:]
        // With those that no route uses just now: a later one may.
        for tls in table.pools.compactMap(\.tls) where isNews[tls] == nil {
            guard let other = read.first(where: { $0 == tls }) else { continue }
            isNews[tls] = tls.renew(from: other)
        }
        renewal.routes = table.plans.sorted { $0.number < $1.number }
            .filter { $0.plan.upstream.tls.flatMap { isNews[$0] } == true }
            .map(\.plan.name)
        return (renewal, Set(isNews.filter(\.value).keys))
    }
}

/// What the kill switch asks of the data path.
extension ProxyServer {
    /// Has every event loop go by a kill log, unless that is older than the one it goes by. When it returns no request
    /// leaves any more with a token that is dead by it, and those under way that carry one are closed, or may end.
    ///
    /// On each loop, within one tick: dead credentials leave their slots, and none is put there from then on, whoever
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
            self.running.withLock { $0.credentials.fence(epochs) }
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
    package var epochs: KillEpochs { self.running.withLock { $0.credentials.epochs } }

    /// Sets the moment from which on no token leaves, until it is set anew. Before the first call there is none.
    ///
    /// A request that comes later asks the ``CredentialSource`` as if it had no credential. Whoever renews the lease there does it by
    /// this, before giving the credential: what is done to the loops comes to them in order.
    package func setLeaseDeadline(_ end: BootInstant) {
        self.ifLoopsRun {
            for loop in self.loops { loop.eventLoop.execute { loop.value.setLeaseDeadline(end) } }
        }
    }
}
