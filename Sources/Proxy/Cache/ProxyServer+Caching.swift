import Synchronization
package import TokenModel

/// What operators see of the response caches of this process, and do about them.
extension ProxyServer {
    /// Removes stored responses: those that match all that is named, or all there are.
    ///
    /// - Parameters:
    ///   - route: the name of the route.
    ///   - account: the account whose tokens fetched them.
    ///   - path: how their paths begin, as callers send them.
    package func purgeCaches(route: String?, account: AccountID?, path: String?) async -> CachePurge {
        // Nothing is stored yet.
        CachePurge()
    }

    /// One for each route of the configuration with a cache.
    package func cacheStatus() async -> [RouteCacheStatus] {
        self.running.withLock { $0.table.plans }.compactMap { route in
            route.plan.cache.map { RouteCacheStatus(route: route.plan.name, maxSize: $0.maxSize) }
        }
    }
}
