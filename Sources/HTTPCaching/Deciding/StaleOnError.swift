package import TokenModel

extension StoredResponse {
    /// Whether it may stand in for an error of the upstream's, or for an upstream that does not answer (RFC 5861 §4).
    ///
    /// The response and the request may each say how stale it may be: the lesser counts, since each is an upper limit.
    /// The route's own limit counts where neither does.
    /// - Parameter directives: of the request that met the error.
    package func mayServeOnError(
        _ directives: RequestDirectives,
        _ rules: CacheRules,
        at now: BootInstant
    ) -> Bool {
        guard !directives.noCache, !directives.noStore, !self.directives.forbidsStale else { return false }
        let age = self.freshness.age(at: now)
        let ttl = self.freshness.lifetime - age
        if directives.staleIfError == nil {
            // The caller has said what it accepts, and nothing of errors.
            if directives.refuses(age: age, ttl: ttl) { return false }
            if ttl <= 0, directives.maxStale.map({ -ttl > $0 }) ?? (directives.maxAge != nil) { return false }
        }
        let limits = [self.directives.staleIfError, directives.staleIfError].compactMap { $0 }
        return -ttl < limits.min() ?? rules.staleIfError
    }

    /// Whether a response with this status is such an error (RFC 5861 §4).
    package static func isError(_ status: Int) -> Bool {
        switch status {
        case 500, 502, 503, 504: true
        default: false
        }
    }
}
