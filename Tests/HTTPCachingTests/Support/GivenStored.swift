import HTTPCaching
import HTTPWire
import NIOCore
import Testing
import TextCoding
import TokenModel

extension Given {
    /// When responses come, unless a test says otherwise: ``date`` on the wall clock.
    static let received = BootInstant(nanoseconds: 5_000_000_000_000)
    static let date = "Thu, 26 Nov 2026 08:00:00 GMT"
    /// A minute before ``date``.
    static let earlier = "Thu, 26 Nov 2026 07:59:00 GMT"
    /// A minute after ``date``.
    static let later = "Thu, 26 Nov 2026 08:01:00 GMT"

    /// `seconds` after ``received``.
    static func now(_ seconds: Int) -> BootInstant { self.received.advanced(by: .seconds(seconds)) }

    /// - Parameters:
    ///   - delay: how long the upstream took for the head, in seconds.
    ///   - seconds: when the head came, after ``received``.
    static func times(delay: Int = 0, at seconds: Int = 0) throws -> ExchangeTimes {
        ExchangeTimes(
            requestedAt: self.now(seconds - delay),
            receivedAt: self.now(seconds),
            receivedAtWall: try #require(HTTPDate.read(self.date)).advanced(by: .seconds(seconds))
        )
    }

    /// ``times(delay:at:)`` without a delay.
    static let instant = ExchangeTimes(
        requestedAt: received,
        receivedAt: received,
        receivedAtWall: WallTime(millisecondsSince1970: 1_795_680_000_000)
    )

    static let sent = SentFields(injectedName: "Authorization", asksForIdentity: false, appendsForwarded: false)
    static let owner = CacheOwner(grant: GrantID("g"), scopes: ["read"], observedEpoch: Epoch(1))

    /// A response to `request` that was stored at ``received``.
    static func stored(
        _ fields: [String],
        status: String = "200 OK",
        body: String = "0123456789",
        to request: [String] = [],
        rules: CacheRules = CacheRules(),
        delay: Int = 0
    ) throws -> StoredResponse {
        let request = try self.request("GET /a", request)
        let storable = try StorableResponse(
            try self.response(status, fields),
            to: request,
            RequestDirectives(request),
            self.times(delay: delay),
            rules,
            self.sent,
            owner: self.owner
        )
        return try #require(storable.with(StoredBody(ByteBuffer(string: body))))
    }
}

extension ResponseHead {
    /// The status line and the fields that pass, in order.
    var lines: [String] {
        String(buffer: self.bytes).split(separator: "\r\n").map(String.init)
    }
}
