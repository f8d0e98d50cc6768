internal import AdminAPI
internal import Proxy
internal import Telemetry
internal import TokenModel

/// Gives operators access to the response caches of the data path.
struct ProxyCaches: GatewayCaches {
    let proxy: ProxyServer

    func vitals() async -> [RouteCacheVitals] {
        await self.proxy.cacheStatus().map { cache in
            RouteCacheVitals(
                route: cache.route,
                entries: cache.entries,
                bytes: cache.bytes,
                maxSize: cache.maxSize,
                hits: cache.hits,
                misses: cache.misses,
                revalidations: cache.revalidations,
                evictions: cache.evictions
            )
        }
    }

    func purge(route: String?, account: AccountID?, path: String?) async -> PurgedResponses {
        let purge = await self.proxy.purgeCaches(route: route, account: account, path: path)
        return PurgedResponses(entries: purge.entries, bytes: purge.bytes)
    }
}

extension MetricsReport.Cache {
    init(_ cache: RouteCacheStatus) {
        self.init(
            route: cache.route,
            hits: cache.hits,
            misses: cache.misses,
            revalidations: cache.revalidations,
            evictions: cache.evictions,
            bytes: cache.bytes
        )
    }
}
