import HTTPCaching
import HTTPWire
import NIOCore
import Telemetry
import TokenModel

/// What one request has to do with its route's response cache, from the lookup to the response's end. Only requests that
/// memory could not answer at once have one.
final class CacheTurn {
    let cache: RouteCache
    /// `nil` for a request that is never answered from memory.
    let key: CacheKey?
    let directives: RequestDirectives
    /// Why the request goes upstream; `nil` if it does not.
    var reason: ForwardReason?
    /// What is stored for the request: it is asked whether this is still good, or this stands in for an error.
    var stored: StoredResponse?
    /// The request goes upstream with the validators of ``stored`` in place of the caller's conditions.
    var isRevalidation = false
    /// The account had no authorization at the lookup, so nothing could be found, and nobody could be waited for.
    var isBlind = false
    /// Takes the response, for this request and those that wait for it.
    var fill: CacheFill?
    /// The response that is being stored, without its body.
    var storable: StorableResponse?
    /// Why the response is not stored.
    var refusal: StaticString?
    /// Another request for the key is under way, and this one waits for its response.
    var ticket: WaitTicket?
    /// The sweep tick since which this one has waited; `nil` if it never has.
    var waitingSince: CoarseTime?
    /// The authorization of the token that the request was sent with.
    var owner: CacheOwner?
    /// When the request was sent.
    var requestedAt = BootInstant.distantPast

    init(_ cache: RouteCache, key: CacheKey?, _ directives: RequestDirectives, reason: ForwardReason?) {
        self.cache = cache
        self.key = key
        self.directives = directives
        self.reason = reason
    }

    /// What the route's metrics count the request as, if it goes upstream.
    var outcome: CacheOutcome? {
        guard self.key != nil else { return nil }
        return self.isRevalidation ? .revalidation : .miss
    }

    /// What is stored belongs to another authorization by now: the request goes as it came.
    func forgetStored() {
        self.stored = nil
        self.isRevalidation = false
        // The caller's own conditions go with it, so the response may be of no use to others.
        if !self.directives.conditions.isEmpty { self.failed() }
    }

    /// The request was sent.
    ///
    /// - Parameter owner: the authorization of its token.
    func sent(as owner: CacheOwner?) {
        self.owner = owner
        self.requestedAt = .now
    }

    /// No response came from the upstream. Those that wait for it ask themselves.
    func failed() { self.fill.take()?.abandon(.goAlone, remember: false) }

    /// The request is over.
    func end() {
        self.ticket.take()?.leave()
        self.fill.take()?.abandon(.retry, remember: false)
    }

    /// What the caller is told of a response from the upstream, or from the gateway itself.
    ///
    /// - Parameter status: of the upstream's response; `nil` if none came.
    func status(upstream status: Int?) -> CacheStatus {
        var answer = CacheStatus(self.reason.map { .forwarded($0) } ?? .neither)
        answer.forwardStatus = status
        answer.detail = self.refusal
        if self.fill != nil, let storable = self.storable {
            answer.isStored = true
            answer.ttl = storable.ttl
        }
        return answer
    }

    /// What a caller is told that has waited for another request's response and gets it; `nil` for other requests.
    var collapsedStatus: CacheStatus? {
        guard self.waitingSince != nil, let reason = self.reason else { return nil }
        return .forwarded(reason, isCollapsed: true)
    }
}

/// A stored response on its way to the caller, a piece at a time.
struct ServedBody {
    let stored: StoredResponse
    /// Offsets of what is left to send.
    var rest: Range<Int>

    /// How much is written at once.
    private static let pieceSize = 16 << 10

    /// The next piece; `nil` behind the last.
    mutating func next() -> ByteBuffer? {
        guard !self.rest.isEmpty else { return nil }
        let end = min(self.rest.lowerBound + Self.pieceSize, self.rest.upperBound)
        var piece = ByteBuffer()
        self.stored.body.copy(self.rest.lowerBound..<end, into: &piece)
        self.rest = end..<self.rest.upperBound
        return piece
    }
}

/// A request that waits for the response to another request.
final class CollapsedRequest: CacheWaiter {
    private let exchange: NIOLoopBound<Exchange>
    private let eventLoop: any EventLoop
    private let requestID: UInt64

    init(_ exchange: Exchange) {
        self.eventLoop = exchange.loop.eventLoop
        self.exchange = NIOLoopBound(exchange, eventLoop: exchange.loop.eventLoop)
        self.requestID = exchange.requestID
    }

    package func settled(_ outcome: CollapseOutcome) {
        self.eventLoop.execute { self.exchange.value.collapseSettled(outcome, of: self.requestID) }
    }
}

/// A request that a route's cache makes on its own behalf: the caller has got the stale response already (RFC 5861 §3).
final class Revalidation {
    private let loop: GatewayLoop
    /// Of the caller that got the stale response.
    let hop: ForwardingHop?
    private(set) var exchange: Exchange?
    /// Its index in the loop's list.
    var index = 0

    init(loop: GatewayLoop, hop: ForwardingHop?) {
        self.loop = loop
        self.hop = hop
    }

    func begin(_ head: RequestHead, _ match: RouteTable.Match, _ turn: CacheTurn, from unverified: UnverifiedCaller) {
        let exchange = Exchange(loop: self.loop, downstream: .nobody(self), from: unverified)
        self.exchange = exchange
        self.loop.opened(self)
        exchange.revalidate(head, match, turn)
    }

    /// The request is over.
    func ended() {
        guard self.exchange.take() != nil else { return }
        self.loop.closed(self)
    }

    /// Gives the request up.
    func stop() {
        self.exchange?.callerGone()
        self.ended()
    }
}
