/// What a route's response cache holds and has done so far.
package struct RouteCacheStatus: Equatable, Sendable {
    /// The name of the route.
    package var route: String
    /// Stored responses.
    package var entries: Int
    /// The bytes of memory that they take, and their upper bound.
    package var bytes: Int
    package var maxSize: Int
    /// Requests that were answered from memory.
    package var hits: UInt64
    /// Requests that went upstream because nothing stored could answer them.
    package var misses: UInt64
    /// Requests that asked upstream whether a stored response is still good.
    package var revalidations: UInt64
    /// Stored responses that made room for others.
    package var evictions: UInt64

    package init(
        route: String,
        entries: Int = 0,
        bytes: Int = 0,
        maxSize: Int = 0,
        hits: UInt64 = 0,
        misses: UInt64 = 0,
        revalidations: UInt64 = 0,
        evictions: UInt64 = 0
    ) {
        self.route = route
        self.entries = entries
        self.bytes = bytes
        self.maxSize = maxSize
        self.hits = hits
        self.misses = misses
        self.revalidations = revalidations
        self.evictions = evictions
    }
}

/// What a purge has removed.
package struct CachePurge: Equatable, Sendable {
    /// Stored responses.
    package var entries: Int
    /// The bytes of memory that they took.
    package var bytes: Int

    package init(entries: Int = 0, bytes: Int = 0) {
        self.entries = entries
        self.bytes = bytes
    }
}
