import NIOCore
import Synchronization

/// Whose certificates are others than before.
package struct CertificateRenewal: Equatable, Sendable {
    /// Where callers connect.
    package var listeners: [ProxyPlan.Address] = []
    /// Names of routes.
    package var routes: [String] = []

    package init(listeners: [ProxyPlan.Address] = [], routes: [String] = []) {
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
    package func renewCertificates(from plan: ProxyPlan) -> CertificateRenewal {
        let (renewal, upstreams) = self.renew(from: plan)
        self.ifLoopsRun {
            for loop in self.loops { loop.eventLoop.execute { loop.value.renew(upstreams) } }
        }
        return renewal
    }

    /// - Returns: also what upstreams are asked for now that they were not before.
    private func renew(from plan: ProxyPlan) -> (CertificateRenewal, upstreams: Set<UpstreamTLS>) {
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
