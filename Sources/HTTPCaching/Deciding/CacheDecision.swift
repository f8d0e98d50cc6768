package import HTTPWire
package import TokenModel

/// Why a request goes upstream, in the words of RFC 9211 §2.2.
package enum ForwardReason: String, Sendable, CaseIterable {
    /// The request is none that caches answer.
    case bypass
    /// Its method is neither GET nor HEAD.
    case method
    /// Nothing is stored for the URI.
    case uriMiss = "uri-miss"
    /// What is stored for the URI was the answer to other request fields.
    case varyMiss = "vary-miss"
    /// Nothing is stored; it is not known whether for the URI or for the fields.
    case miss
    /// The request does not accept what is stored.
    case request
    /// What is stored is stale.
    case stale
    /// What is stored is a part.
    case partial
}

/// What is done with a request on a caching route (RFC 9111 §4).
package enum CacheDecision: Equatable, Sendable {
    /// The stored response is used: it is fresh, or the caller accepts it stale.
    case serve(ttl: Int)
    /// The stored response is used and is confirmed afterwards (RFC 5861 §3).
    case serveAndRevalidate(ttl: Int)
    /// The upstream is asked whether the stored response is still good.
    case revalidate(ForwardReason)
    /// The request goes upstream as it came.
    case forward(ForwardReason)
    /// The caller wants a stored response, and none may be used: it gets a 504 (RFC 9111 §5.2.1.7).
    case refuse

    /// - Parameters:
    ///   - directives: of `request`.
    ///   - stored: the response that the request selects, if there is one.
    ///   - otherVariants: responses are stored for the URI that the request does not select.
    package init(
        _ request: RequestHead,
        _ directives: RequestDirectives,
        stored: StoredResponse?,
        otherVariants: Bool,
        at now: BootInstant
    ) {
        let decision = Self.decision(request, directives, stored, otherVariants, now)
        switch decision {
        case .forward, .revalidate: self = directives.onlyIfCached ? .refuse : decision
        case .serve, .serveAndRevalidate, .refuse: self = decision
        }
    }

    /// Why the request is none that a stored response may answer; `nil` if it is one.
    package static func exclusion(_ request: RequestHead, _ directives: RequestDirectives) -> ForwardReason? {
        switch request.method {
        case .get, .head: break
        case .post, .put, .delete, .options, .patch, .other: return .method
        }
        // Only the upstream knows whether the state is the one that the caller means (RFC 9110 §13.1.1, §13.1.4).
        guard request.mayBeAnswered, directives.conditions.isDisjoint(with: [.match, .unmodifiedSince]) else {
            return .bypass
        }
        return directives.noStore ? .request : nil
    }

    private static func decision(
        _ request: RequestHead,
        _ directives: RequestDirectives,
        _ stored: StoredResponse?,
        _ otherVariants: Bool,
        _ now: BootInstant
    ) -> CacheDecision {
        if let reason = Self.exclusion(request, directives) { return .forward(reason) }
        guard let stored else { return .forward(otherVariants ? .varyMiss : .uriMiss) }
        let age = stored.freshness.age(at: now)
        let ttl = stored.freshness.lifetime - age
        if directives.noCache || directives.refuses(age: age, ttl: ttl) { return stored.asked(.request) }
        if stored.directives.noCache { return stored.asked(.stale) }
        if ttl > 0 { return .serve(ttl: ttl) }
        guard !stored.directives.mustRevalidate else { return stored.asked(.stale) }

        let staleness = -ttl
        let isAccepted = directives.maxStale.map { staleness <= $0 }
        // A caller that names an age or a time to stay fresh does not want a stale response (RFC 9111 §5.2.1.1), unless
        // it also says how stale it may be.
        let mayBeStale = isAccepted ?? (directives.maxAge == nil && directives.minFresh == nil)
        if mayBeStale, staleness < stored.directives.staleWhileRevalidate ?? 0 { return .serveAndRevalidate(ttl: ttl) }
        return isAccepted == true ? .serve(ttl: ttl) : stored.asked(.stale)
    }
}

extension RequestDirectives {
    /// Whether the caller refuses a response for its age or for the time that it is still fresh.
    ///
    /// A response of `age` whole seconds is older than that by a fraction, so `max-age=0` asks the upstream.
    func refuses(age: Int, ttl: Int) -> Bool { age >= self.maxAge ?? .max || ttl < self.minFresh ?? .min }
}

extension StoredResponse {
    /// The upstream is asked about this response, or for a new one if this has nothing to be recognized by.
    fileprivate func asked(_ reason: ForwardReason) -> CacheDecision {
        self.validators.isEmpty ? .forward(reason) : .revalidate(reason)
    }
}

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
