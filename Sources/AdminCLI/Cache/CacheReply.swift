/// The response caches of one gateway process as the admin API shows them.
package struct CachesReply: Decodable, Equatable, Sendable {
    package let caches: [Cache]

    /// The cache of one route.
    package struct Cache: Decodable, Equatable, Sendable {
        package let route: String
        /// Stored responses.
        package let entries: Int
        package let bytes: Int
        package let maxBytes: Int
        package let hits: UInt64
        package let misses: UInt64
        package let revalidations: UInt64
        package let evictions: UInt64

        private enum CodingKeys: String, CodingKey {
            case route, entries, bytes, hits, misses, revalidations, evictions
            case maxBytes = "max_bytes"
        }
    }
}

/// What a purge has removed from the caches of one gateway process.
package struct PurgeReply: Decodable, Equatable, Sendable {
    /// Stored responses.
    package let entries: Int
    package let bytes: Int
}

/// A purge in the admin API's form. A member that is `nil` is left out, and excludes nothing.
package struct PurgeOrder: Encodable, Equatable, Sendable {
    package let route: String?
    package let account: String?
    package let path: String?

    package init(route: String?, account: String?, path: String?) {
        self.route = route
        self.account = account
        self.path = path
    }
}
