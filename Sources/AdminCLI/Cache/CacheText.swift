/// Response caches as lines for people.
package enum CacheText {
    /// One line for each route with a cache.
    package static func lines(_ reply: CachesReply) -> [String] {
        guard !reply.caches.isEmpty else {
            return ["no route has a cache: cache, below a route in the configuration, gives it one"]
        }
        var table = TextTable(
            "ROUTE",
            "RESPONSES",
            "MEMORY",
            "HITS",
            "MISSES",
            "REVALIDATIONS",
            "EVICTIONS",
            "HIT RATE"
        )
        for cache in reply.caches {
            table.add([
                cache.route,
                String(cache.entries),
                "\(Self.size(cache.bytes)) of \(Self.size(cache.maxBytes))",
                String(cache.hits),
                String(cache.misses),
                String(cache.revalidations),
                String(cache.evictions),
                Self.rate(cache),
            ])
        }
        return table.lines
    }

    /// What a purge has removed, and what it does not reach.
    package static func lines(_ purge: PurgeReply) -> [String] {
        let what = purge.entries == 1 ? "1 stored response" : "\(purge.entries) stored responses"
        return [
            "purged \(what), \(Self.size(purge.bytes)), from the memory of this gateway process",
            "others on its store keep their own: purge each through its admin API, with --admin",
        ]
    }

    /// The requests that were answered from memory, of all that asked the cache.
    private static func rate(_ cache: CachesReply.Cache) -> String {
        let all = Double(cache.hits) + Double(cache.misses) + Double(cache.revalidations)
        // Rounded down: 100 % means that each request was answered from memory.
        return all == 0 ? "-" : "\(Int(100 * Double(cache.hits) / all)) %"
    }

    /// A number of bytes in the largest unit of which there is one, such as `1.5 MiB`.
    package static func size(_ bytes: Int) -> String {
        let units = ["KiB", "MiB", "GiB", "TiB"]
        guard bytes >= 1_024 else { return "\(bytes) B" }
        var (tenths, unit) = (bytes / 1_024 * 10 + bytes % 1_024 * 10 / 1_024, 0)
        while tenths >= 10_240, unit < units.count - 1 { (tenths, unit) = (tenths / 1_024, unit + 1) }
        return tenths % 10 == 0 ? "\(tenths / 10) \(units[unit])" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}
