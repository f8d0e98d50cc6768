import HTTPCaching
import Synchronization
import Telemetry
package import TokenModel

/// The response caches of all routes, for operators.
extension ProxyServer {
    /// Removes stored responses. When this returns, none that was stored before the call is sent to anyone, and no
    /// response to a request that was made before it is stored.
    ///
    /// - Parameters:
    ///   - route: the route's name; `nil` for all.
    ///   - account: the account whose token fetched the responses; `nil` for all.
    ///   - path: as callers write it, with all below it and any query; `nil` for all.
    package func purgeCaches(route: String?, account: AccountID?, path: String?) async -> CachePurge {
        let table = self.running.withLock { $0.table }
        let path = path.map { Array($0.utf8) }
        var purge = CachePurge()
        for (name, cache) in zip(table.names, table.caches) where route == nil || route == name {
            guard let cache else { continue }
            let removed = cache.responses.purge { key, _ in
                RouteCache.matches(key, account: account, path: path)
            }
            purge.entries += removed.entries
            purge.bytes += removed.bytes
        }
        return purge
    }

    /// The response caches of the present configuration, in the order of their routes' first mention.
    package func cacheStatus() async -> [RouteCacheStatus] {
        let table = self.running.withLock { $0.table }
        let caching = Set(table.routes.filter { $0.cache != nil }.map(\.number))
        let traffic = await self.traffic()
        return table.names.indices.compactMap { index in
            guard caching.contains(index + 1), let cache = table.caches[index] else { return nil }
            let counts = traffic.routes.indices.contains(index + 1) ? traffic.routes[index + 1] : RouteCounts()
            let statistics = cache.responses.statistics
            return RouteCacheStatus(
                route: table.names[index],
                entries: statistics.entries,
                bytes: statistics.bytes,
                maxSize: cache.configuration.maxSize,
                hits: counts[.hit],
                misses: counts[.miss],
                revalidations: counts[.revalidation],
                evictions: UInt64(statistics.evictions)
            )
        }
    }

    /// Frees what no request can get any more: stored responses of authorizations that have ended, and of configurations
    /// that were replaced. The event loops have stopped using them before.
    func removeDeadResponses() {
        // While somebody else has the credentials too, the next change copies all of them.
        let running = self.running.withLock { running in
            running.table.caches.contains { $0 != nil } ? (running.table, running.credentials) : nil
        }
        guard let (table, credentials) = running else { return }
        for cache in table.caches {
            guard let cache else { continue }
            let isInUse = table.routes.contains { $0.cache === cache }
            _ = cache.responses.purge { key, owner in
                // What is under way is judged when it is complete.
                guard let owner else { return !isInUse }
                guard isInUse, cache.isOfThisGeneration(key) else { return true }
                return !credentials.serves(owner, of: RouteCache.account(of: key))
            }
        }
    }

    /// Frees dead responses whenever there may be any, until the stream ends.
    func runCacheCleaning() async {
        for await _ in self.cacheCleaning.stream { self.removeDeadResponses() }
    }

    /// Has dead responses freed soon, not on an event loop.
    func cleansCaches() { self.cacheCleaning.continuation.yield() }
}
