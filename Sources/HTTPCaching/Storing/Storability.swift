package import HTTPWire
import NIOCore
package import TokenModel

/// Whether a response may be stored (RFC 9111 §3).
///
/// `Authorization` does not forbid it (§3.5): this is a private cache, whose key has the caller's authorization.
package enum Storability: Equatable, Sendable {
    case storable
    case refused(Refusal)

    /// Why a response is not stored.
    package enum Refusal: Error, Equatable, Sendable, CaseIterable {
        /// Another method than GET, a GET with a body, or one that some upstreams read as another method.
        case method
        /// The request says `no-store`.
        case requestForbids
        /// The response says `no-store`.
        case responseForbids
        /// A response with this status is never stored, or not unless it says how long it is fresh.
        case status
        /// `Vary` excludes each later request, or depends on who the caller is.
        case varies
        /// The body is longer than the route allows.
        case tooLarge
        /// The body ends when the upstream likes, and callers need its parts at once.
        case streaming
        /// It is never fresh, nothing allows it to be used stale, and the upstream can't be asked whether it is still
        /// good.
        case useless
        /// `Connection` removes a field that caches need, or the head has no valid form of its own.
        case malformed

        /// For `Cache-Status`.
        package var detail: StaticString {
            switch self {
            case .method: "method"
            case .requestForbids: "request-no-store"
            case .responseForbids: "no-store"
            case .status: "status"
            case .varies: "vary"
            case .tooLarge: "too-large"
            case .streaming: "streaming"
            case .useless: "no-lifetime"
            case .malformed: "malformed"
            }
        }
    }

    /// - Parameters:
    ///   - response: the directives of `head`.
    ///   - freshness: of `head`.
    ///   - vary: `nil` if no request can match.
    ///   - now: when the head came.
    package init(
        _ request: RequestHead,
        _ directives: RequestDirectives,
        _ head: ResponseHead,
        _ response: ResponseDirectives,
        _ freshness: Freshness,
        _ vary: VaryValues?,
        _ rules: CacheRules,
        at now: BootInstant
    ) {
        let refusal =
            Self.refusal(request, directives, head, response, freshness, rules)
            ?? (vary == nil ? .varies : nil)
            ?? (Self.isUseful(head, response, freshness, rules, at: now) ? nil : .useless)
        self = refusal.map { .refused($0) } ?? .storable
    }

    private static func refusal(
        _ request: RequestHead,
        _ directives: RequestDirectives,
        _ head: ResponseHead,
        _ response: ResponseDirectives,
        _ freshness: Freshness,
        _ rules: CacheRules
    ) -> Refusal? {
        guard case .get = request.method, request.mayBeAnswered else { return .method }
        if directives.noStore { return .requestForbids }
        if CacheableStatus.isNeverStored(head.status) { return .status }
        if response.mustUnderstand {
            // A cache that knows the status ignores `no-store` then (§5.2.2.3).
            guard CacheableStatus.isUnderstood(head.status) else { return .status }
        } else if response.noStore {
            return .responseForbids
        }
        guard
            freshness.isExplicit || response.isMarkedCacheable || CacheableStatus.isHeuristicallyCacheable(head.status)
        else {
            return .status
        }
        if case .length(let length) = head.body, length > rules.maxObject { return .tooLarge }
        if head.isStream { return .streaming }
        return nil
    }

    /// Whether it may ever be used again, without the upstream or with its confirmation.
    private static func isUseful(
        _ head: ResponseHead,
        _ response: ResponseDirectives,
        _ freshness: Freshness,
        _ rules: CacheRules,
        at now: BootInstant
    ) -> Bool {
        if !response.noCache, freshness.ttl(at: now) > 0 { return true }
        if !response.forbidsStale,
            (response.staleWhileRevalidate ?? 0) > 0 || (response.staleIfError ?? rules.staleIfError) > 0
        {
            return true
        }
        return !Validators(head).isEmpty
    }
}

extension RequestHead {
    /// Whether a stored response may answer the request at all: no body, no switch of protocols, and no other method
    /// for upstreams that read it from a field.
    var mayBeAnswered: Bool { self.body.isEmpty && !self.overridesMethod && !self.asksForWebSocket }
}

extension ResponseHead {
    /// Whether the body's media type is one of those that never end: server-sent events, and pictures that replace each
    /// other.
    fileprivate var isStream: Bool {
        let bytes = self.bytes.readableBytesUInt8Span
        return self.fields.values(of: "content-type", in: bytes).contains { value in
            var end = value.lower
            while end < value.upper, bytes[end] != UInt8(ascii: ";") { end += 1 }
            let type = bytes.trimmed(ByteRange(value.lower, end))
            return bytes.matches(type, "text/event-stream") || bytes.matches(type, "multipart/x-mixed-replace")
        }
    }
}

/// What a status code says of storing (RFC 9110 §15.1, RFC 9111 §3).
enum CacheableStatus {
    /// A response with this status may be stored although it says nothing of its freshness (RFC 9110 §15.1). 206 is one
    /// too, but parts are not stored here.
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// What the status means to a cache is known: such a response may be stored in spite of `no-store` with
    /// `must-understand` (RFC 9111 §5.2.2.3).
    static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 302, 303, 307: true
        default: self.isHeuristicallyCacheable(status)
        }
    }

    /// A response with this status is never stored: it is a part or no response of its own (206, 304), it answers one
    /// caller's credentials, conditions or connection, or its specification forbids it (428, 429, 431, 511: RFC 6585).
    static func isNeverStored(_ status: Int) -> Bool {
        switch status {
        case ..<200, 600...: true
        case 206, 226, 304, 401, 407, 412, 416, 417, 421, 426, 428, 429, 431, 511: true
        default: false
        }
    }
}
