/// The response cache of a route (RFC 9111).
package struct CacheSettings: Equatable, Sendable {
    /// The maximum memory for stored responses, in bytes.
    package let maxSize: Int
    /// The longest body that is stored, in bytes; at most ``maxSize``.
    package let maxObject: Int
    /// How long a response that says nothing of its freshness may be used, in seconds.
    package let defaultTTL: Int
    /// How long a stale response may stand in for an error, in seconds, unless the response or the request says it.
    package let staleIfError: Int
    package let share: CacheSharing
    /// Names of request fields, in lower case, that tell responses apart even if `Vary` does not name them.
    package let keyFields: [String]
}

/// Who gets a response that is stored.
package enum CacheSharing: String, CaseIterable, Sendable {
    /// The caller whose request fetched it.
    case caller
    /// All callers that may use the account.
    case account
}
