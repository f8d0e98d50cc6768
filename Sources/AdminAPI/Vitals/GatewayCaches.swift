package import TokenModel

/// Shows and empties the response caches of the process, which the admin API can't reach itself. The program that
/// assembles the gateway implements it.
package protocol GatewayCaches: Sendable {
    /// One for each route with a cache. Other routes have none to purge.
    func vitals() async -> [RouteCacheVitals]

    /// Removes stored responses: those that match all that is named, or all there are. When this returns, no caller gets
    /// one of them any more.
    ///
    /// - Parameters:
    ///   - route: the name of a route.
    ///   - account: the account whose tokens fetched them.
    ///   - path: how their paths begin, as callers send them.
    func purge(route: String?, account: AccountID?, path: String?) async -> PurgedResponses
}

/// What a route's response cache holds and has done since the process started.
package struct RouteCacheVitals: Equatable, Sendable {
    /// The name of the route.
    package var route: String
    /// Stored responses.
    package var entries: Int
    /// The bytes of memory that they take.
    package var bytes: Int
    /// The bytes of memory that they may take.
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
        entries: Int,
        bytes: Int,
        maxSize: Int,
        hits: UInt64,
        misses: UInt64,
        revalidations: UInt64,
        evictions: UInt64
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
package struct PurgedResponses: Equatable, Sendable {
    /// Stored responses.
    package var entries: Int
    /// The bytes of memory that they took.
    package var bytes: Int

    package init(entries: Int, bytes: Int) {
        self.entries = entries
        self.bytes = bytes
    }
}
