/// What a route says about its cache, beyond RFC 9111.
package struct CacheRules: Equatable, Sendable {
    /// The longest body that is stored, in bytes.
    package var maxObject: Int
    /// How long a response that says nothing of its freshness may be used, in seconds (RFC 9111 §4.2.2).
    package var defaultTTL: Int
    /// How long a stale response may stand in for an error, in seconds, where neither the response nor the request says
    /// it (RFC 5861 §4).
    package var staleIfError: Int

    package init(maxObject: Int = 1 << 20, defaultTTL: Int = 0, staleIfError: Int = 0) {
        self.maxObject = maxObject
        self.defaultTTL = defaultTTL
        self.staleIfError = staleIfError
    }
}
