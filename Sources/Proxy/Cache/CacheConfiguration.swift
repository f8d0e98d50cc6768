package import HTTPCaching

/// What a route says about its response cache.
package struct CacheConfiguration: Equatable, Sendable {
    /// The bytes of memory that all stored responses of the route may take, with what it takes to find them.
    package var maxSize: Int
    package var rules: CacheRules
    /// Callers share stored responses; otherwise each caller has its own.
    package var isSharedByCallers: Bool
    /// Names of request fields, in lower case, whose values tell responses apart even if `Vary` does not name them.
    package var keyFields: [String]

    package init(
        maxSize: Int = 256 << 20,
        rules: CacheRules = CacheRules(),
        isSharedByCallers: Bool = false,
        keyFields: [String] = []
    ) {
        self.maxSize = maxSize
        self.rules = rules
        self.isSharedByCallers = isSharedByCallers
        self.keyFields = keyFields
    }
}
