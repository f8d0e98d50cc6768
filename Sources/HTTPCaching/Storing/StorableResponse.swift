package import HTTPWire
internal import TokenModel

/// Everything that is stored of a response but its body, which is still to come.
package struct StorableResponse: Sendable {
    /// Without `Content-Length`, unless the upstream has declared one.
    let head: ResponseHead
    /// The body's length, if the upstream has declared it.
    package let bodyLength: Int?
    /// For how many seconds it is fresh from its receipt on; negative if it is stale already.
    package let ttl: Int
    let directives: ResponseDirectives
    let freshness: Freshness
    let vary: VaryValues
    let owner: CacheOwner

    /// - Parameters:
    ///   - answer: the upstream's head.
    ///   - request: the caller's, which ``RequestDirectives`` `directives` are of.
    ///   - owner: whose token the request was sent with.
    /// - Throws: why the response must not be stored.
    package init(
        _ answer: ResponseHead,
        to request: RequestHead,
        _ directives: RequestDirectives,
        _ times: ExchangeTimes,
        _ rules: CacheRules,
        _ sent: SentFields,
        owner: CacheOwner
    ) throws(Storability.Refusal) {
        let response = ResponseDirectives(answer)
        let freshness = Freshness(of: answer, response, times, rules)
        let vary = VaryValues(response: answer, request: request, sent)
        let storability = Storability(
            request,
            directives,
            answer,
            response,
            freshness,
            vary,
            rules,
            at: times.receivedAt
        )
        if case .refused(let refusal) = storability { throw refusal }
        self.bodyLength =
            switch answer.body {
            case .length(let length): length
            case .none: 0
            case .chunked, .untilClose: nil
            }
        let head = StoredHead.make(from: answer, bodyLength: self.bodyLength, at: times.receivedAtWall)
        guard let vary, let head else { throw .malformed }
        self.head = head
        self.directives = response
        self.freshness = freshness
        self.vary = vary
        self.owner = owner
        self.ttl = freshness.ttl(at: times.receivedAt)
    }

    /// About what it takes of memory without its key and body, in bytes.
    package var size: Int { StoredResponse.size(head: self.head, self.vary) }

    /// Whether a request that says nothing of caches will get it without the upstream.
    package var isFresh: Bool { !self.directives.noCache && self.ttl > 0 }

    /// The stored response; `nil` if the body is shorter or longer than the upstream has declared.
    package func with(_ body: StoredBody) -> StoredResponse? {
        guard self.bodyLength == nil || self.bodyLength == body.count else { return nil }
        let head = self.bodyLength == nil ? StoredHead.withLength(body.count, of: self.head) : self.head
        guard let head else { return nil }
        return StoredResponse(
            head: head,
            body: body,
            directives: self.directives,
            freshness: self.freshness,
            vary: self.vary,
            owner: self.owner
        )
    }
}
