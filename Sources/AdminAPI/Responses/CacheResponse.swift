/// The response caches of the responding process. Other replicas have their own.
struct CachesResponse: Encodable, Sendable {
    let caches: [Cache]

    init(_ caches: [RouteCacheVitals]) {
        self.caches = caches.map(Cache.init)
    }

    struct Cache: Encodable, Sendable {
        let route: String
        let entries: Int
        let bytes: Int
        let maxBytes: Int
        let hits: UInt64
        let misses: UInt64
        let revalidations: UInt64
        let evictions: UInt64

        init(_ cache: RouteCacheVitals) {
            self.route = cache.route
            self.entries = cache.entries
            self.bytes = cache.bytes
            self.maxBytes = cache.maxSize
            self.hits = cache.hits
            self.misses = cache.misses
            self.revalidations = cache.revalidations
            self.evictions = cache.evictions
        }

        private enum CodingKeys: String, CodingKey {
            case route, entries, bytes, hits, misses, revalidations, evictions
            case maxBytes = "max_bytes"
        }
    }
}

/// What a purge has removed from the caches of the responding process.
struct PurgedResponse: Encodable, Sendable {
    let entries: Int
    let bytes: Int

    init(_ purged: PurgedResponses) {
        self.entries = purged.entries
        self.bytes = purged.bytes
    }
}
