internal import CShims
package import HTTPWire
import NIOCore
internal import Synchronization
package import TokenModel

/// A whole response that later requests may get. It never changes: a confirmation makes another one with the same body.
package final class StoredResponse: Sendable {
    /// As ``StoredHead`` makes it, framed by the body's length. Its bytes are overwritten with this object: use it only
    /// as long as you hold that.
    package let head: ResponseHead
    package let body: StoredBody
    package let directives: ResponseDirectives
    package let freshness: Freshness
    package let vary: VaryValues
    package let owner: CacheOwner
    private let withdrawn = Atomic(false)

    package init(
        head: ResponseHead,
        body: StoredBody,
        directives: ResponseDirectives,
        freshness: Freshness,
        vary: VaryValues,
        owner: CacheOwner
    ) {
        self.head = head
        self.body = body
        self.directives = directives
        self.freshness = freshness
        self.vary = vary
        self.owner = owner
    }

    deinit {
        // The head's memory is its own, and whoever reads it holds this response.
        unsafe self.head.bytes.withUnsafeReadableBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            unsafe martlet_zero(UnsafeMutableRawPointer(mutating: base), bytes.count)
        }
    }

    /// It was removed by a purge, an invalidation or a newer response. Requests that have found it before must not use it
    /// any more, unless the upstream confirms it.
    package var isWithdrawn: Bool { self.withdrawn.load(ordering: .acquiring) }

    func withdraw() { self.withdrawn.store(true, ordering: .releasing) }

    package var validators: Validators { Validators(self.head) }

    /// What it takes of memory without its key and body, in bytes.
    package var size: Int { Self.size(head: self.head, self.vary) }

    /// Whether a request that says nothing of caches gets it without the upstream.
    package func isFresh(at now: BootInstant) -> Bool { !self.directives.noCache && self.freshness.ttl(at: now) > 0 }

    /// Whether each request must ask the upstream about it.
    package var isForOneRequest: Bool { self.directives.noCache || self.freshness.lifetime <= 0 }

    /// The objects, their headers, and the rounding of the allocator.
    static let overhead = 512

    static func size(head: ResponseHead, _ vary: VaryValues) -> Int {
        head.bytes.storageCapacity + head.fields.capacity * MemoryLayout<Field>.stride
            + vary.count + vary.fields * 96 + Self.overhead
    }

    /// The response after the upstream has confirmed it by a 304 (RFC 9111 §4.3.4) or by a response to HEAD (§4.3.5).
    ///
    /// - Parameters:
    ///   - answer: the upstream's head.
    ///   - request: the request that asked, which this response matches.
    ///   - owner: whose token the request was sent with.
    /// - Returns: `nil` if the response must not be kept: the answer forbids it, or means another response.
    package func confirmed(
        by answer: ResponseHead,
        to request: RequestHead,
        _ times: ExchangeTimes,
        _ rules: CacheRules,
        _ sent: SentFields,
        owner: CacheOwner
    ) -> StoredResponse? {
        guard self.validators.mayBeConfirmed(by: Validators(answer)),
            let head = StoredHead.updated(
                self.head,
                by: answer,
                bodyLength: self.body.count,
                at: times.receivedAtWall
            ),
            let vary = VaryValues(response: head, request: request, sent)
        else { return nil }
        let directives = ResponseDirectives(head)
        guard !directives.noStore || directives.mustUnderstand else { return nil }
        return StoredResponse(
            head: head,
            body: self.body,
            directives: directives,
            freshness: Freshness(of: head, directives, confirmedBy: answer, times, rules),
            vary: vary,
            owner: owner
        )
    }

    /// Whether a response to HEAD is about this response (RFC 9111 §4.3.5): `true`, it confirms it; `false`, it shows
    /// that the upstream has another one now; `nil`, it does not tell.
    package func isFreshened(byHEAD answer: ResponseHead) -> Bool? {
        guard answer.status == 200, self.head.status == 200 else { return nil }
        let other = Validators(answer)
        if let tag = other.tag, self.validators.tag != tag { return false }
        if let date = other.modifiedAt, self.validators.modifiedAt != date { return false }
        if let length = answer.describedLength, length != self.body.count { return false }
        return other.isEmpty && answer.describedLength == nil ? nil : true
    }
}

/// The authorization whose token fetched a stored response. The response serves requests with that authorization only.
package struct CacheOwner: Hashable, Sendable {
    package let grant: GrantID
    /// What the authorization covers. A refresh may narrow it (RFC 6749 §6).
    package let scopes: Set<String>
    /// The kill epoch that the writer of the token's record had read: a later kill makes the response unusable.
    package let observedEpoch: Epoch

    package init(grant: GrantID, scopes: Set<String>, observedEpoch: Epoch) {
        self.grant = grant
        self.scopes = scopes
        self.observedEpoch = observedEpoch
    }

    /// The authorization of `credential`; `nil` if the provider has refused its grant.
    package init?(_ credential: UpstreamCredential) {
        guard !credential.isGrantRefused else { return nil }
        self.init(
            grant: credential.grant,
            scopes: credential.scopes,
            observedEpoch: credential.observedEpoch
        )
    }

    /// Whether `other` is the same authorization, with the same scopes.
    package func covers(_ other: CacheOwner) -> Bool { self.grant == other.grant && self.scopes == other.scopes }
}
