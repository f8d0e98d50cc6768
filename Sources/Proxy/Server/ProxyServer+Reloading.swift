import NIOCore
import Synchronization
import SystemSupport
package import Telemetry
package import TokenModel

/// Changes of the configuration while requests are in progress.
extension ProxyServer {
    /// Takes over the routes, callers, limits and certificates of `plan`. The listeners and event loops stay as they
    /// are.
    ///
    /// Requests in progress keep the route that they began with. From the next request on, on a new connection or an
    /// old one, the caller must authenticate under the new plan. This function returns when every event loop uses the
    /// plan. Don't call it again before it has returned.
    ///
    /// - Parameter accessLog: gets a line per request; `nil` writes none.
    /// - Returns: the listeners and routes whose certificates have changed.
    package func reload(_ plan: ProxyConfiguration, accessLog: LogWriter? = nil) async -> CertificateRenewal {
        let renewal = self.renewCertificates(from: plan)
        self.limits.reload(plan)
        // While callers need no keys, other users must not be able to connect. So the mode is restricted before the
        // loops change, and widened after that.
        let mode = plan.unixSocketMode
        let files = self.socketFiles.withLock { $0 }
        if plan.callers == nil { for file in files { file.setMode(mode) } }
        let old = self.running.withLock { $0 }
        let made = RoutingSnapshot(
            plan,
            hosts: self.plan.hostFields,
            credentials: old.credentials,
            accessLog: accessLog,
            following: old
        )
        var swaps: [EventLoopFuture<Void>] = []
        self.ifLoopsRun {
            let tables = self.running.withLock { running in
                var tables = made
                // The credentials at this moment: each later change arrives as an event.
                tables.credentials = running.credentials
                running = tables
                return tables
            }
            swaps = self.loops.map { loop in loop.eventLoop.submit { loop.value.reload(tables) } }
        }
        // This fails where the loop has ended in the meantime.
        for swap in swaps { try? await swap.get() }
        for cache in made.table.caches { cache?.resize() }
        self.cleansCaches()
        if plan.callers != nil { for file in files { file.setMode(mode) } }
        return renewal
    }

    /// Names of the routes, in the order in which ``traffic()`` counts them, with the routes of earlier configurations.
    package var routeNames: [String] { self.running.withLock { $0.table.names } }
}

/// The listeners and routes whose certificates have changed.
package struct CertificateRenewal: Equatable, Sendable {
    /// Addresses of the listeners.
    package var listeners: [ProxyConfiguration.Address] = []
    /// Names of routes.
    package var routes: [String] = []

    package init(listeners: [ProxyConfiguration.Address] = [], routes: [String] = []) {
        self.listeners = listeners
        self.routes = routes
    }
}

extension ProxyServer {
    /// Takes over the certificates of `plan`, which has read them anew, for connections made from now on. An open
    /// connection keeps what it began with: a caller's connection to its end, an upstream's to the end of its request.
    ///
    /// A listener's certificates are taken over if `plan` has a listener with the same address at the same position; a
    /// route's, if `plan` has them from the same files. The rest of `plan` is ignored.
    package func renewCertificates(from plan: ProxyConfiguration) -> CertificateRenewal {
        let (renewal, upstreams) = self.renew(from: plan)
        self.ifLoopsRun {
            for loop in self.loops { loop.eventLoop.execute { loop.value.renew(upstreams) } }
        }
        return renewal
    }

    /// - Returns: also the upstreams whose TLS settings have changed.
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
        // Pools that no route uses now are included: a later route may use them.
        for tls in table.pools.compactMap(\.tls) where isNews[tls] == nil {
            guard let other = read.first(where: { $0 == tls }) else { continue }
            isNews[tls] = tls.renew(from: other)
        }
        renewal.routes = table.routes.sorted { $0.number < $1.number }
            .filter { $0.plan.upstream.tls.flatMap { isNews[$0] } == true }
            .map(\.plan.name)
        return (renewal, Set(isNews.filter(\.value).keys))
    }
}

/// The kill switch's part of the data path.
extension ProxyServer {
    /// Makes every event loop use a kill log, unless the loop has a newer one. When this returns, no request is sent
    /// any more with a token that the log kills, and requests in progress that carry one are closed, or may end.
    ///
    /// On each loop, within one tick: dead credentials leave their slots, and none is put there from then on, whoever
    /// announces it. Requests that wait for a killed account get a `killed` reply. Of the requests that carry a dead
    /// token, those whose whole head the kernel does not have yet are closed, and the head is not sent. For the others
    /// both connections are cut, so that no partial response looks whole; or they may end, where
    /// ``KillEpochs/mayEnd(with:of:at:)`` says so. A caller that has received no byte of a response gets a `killed`
    /// reply.
    ///
    /// The call may be repeated.
    ///
    /// - Parameter providers: the provider that each account is configured for, to tell whether its waiting requests
    ///   wait in vain. For an account that is missing here, its last credential decides.
    package func fence(
        _ epochs: KillEpochs,
        providers: AccountMap<ProviderID> = AccountMap()
    ) async -> FencedExchanges {
        var answers: [EventLoopFuture<FencedExchanges>] = []
        self.ifLoopsRun {
            self.running.withLock { $0.credentials.fence(epochs) }
            answers = self.loops.map { loop in
                loop.eventLoop.submit { loop.value.fence(epochs, providers: providers) }
            }
        }
        var fenced = FencedExchanges()
        // This fails where the loop has ended in the meantime, and all of its connections with it.
        for answer in answers { fenced += (try? await answer.get()) ?? FencedExchanges() }
        self.cleansCaches()
        return fenced
    }

    /// The kill log that the event loops use, or have been told to use.
    package var epochs: KillEpochs { self.running.withLock { $0.credentials.epochs } }

    /// Sets the moment from which on no token is sent, until the next call. Before the first call there is no such
    /// moment.
    ///
    /// A request that comes later asks the ``CredentialSource`` as if it had no credential. When the source renews the
    /// lease, it calls this before it returns the credential: each loop runs its tasks in order.
    package func setLeaseDeadline(_ end: BootInstant) {
        self.ifLoopsRun {
            for loop in self.loops { loop.eventLoop.execute { loop.value.setLeaseDeadline(end) } }
        }
    }
}
