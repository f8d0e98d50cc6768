import HTTPWire
import NIOCore
import Synchronization
import TokenModel

/// A route as an event loop uses it, with all that can be prepared before the first request.
package final class Route: Sendable {
    package let plan: RouteConfiguration
    /// The number under which the route is counted: the index of its name in ``RouteTable/names``, counted from 1.
    package let number: Int
    /// The index of the account's slot; `nil` where requests choose the account.
    package let slot: Int?
    /// The accounts that requests choose from; `nil` where the account is fixed.
    let choices: AccountSet?
    /// The index, in each slot, of the prepared line that this route injects.
    package let line: Int
    /// The index of the upstream's pool.
    package let pool: Int
    let rewrite: UpstreamRequest
    /// Maps targets that the upstream's responses name back to the gateway.
    let targets: ResponseTargets
    /// Shared by all routes of this name, in this table and those before it.
    let cookieNotice: CookieNotice
    /// `nil`: the route stores no responses.
    let cache: RouteCache?

    /// The host in lower case, or empty for any.
    let hostName: [UInt8]
    /// The path as it stands in a request without percent signs; `nil` where a segment contains a slash, which a
    /// request can send only encoded.
    private let path: [UInt8]?
    /// The decoded segments of the path.
    private let segments: [[UInt8]]

    init(
        _ plan: RouteConfiguration,
        number: Int,
        slot: Int?,
        line: Int,
        pool: Int,
        via: Via,
        cookieNotice: CookieNotice,
        cache: RouteCache?
    ) {
        self.plan = plan
        self.cookieNotice = cookieNotice
        self.cache = cache
        self.number = number
        self.slot = slot
        self.choices = if case .chosen(let patterns) = plan.account { AccountSet(patterns) } else { nil }
        self.line = line
        self.pool = pool
        let upstream = plan.upstream
        self.rewrite = UpstreamRequest(
            path: upstream.path,
            host: upstream.authority,
            via: plan.via ? via : nil,
            injectedName: plan.injection.header,
            asksForIdentity: plan.retryOn.contains { $0.body != nil },
            passesCookies: plan.passesCookies,
            appendsForwarded: plan.appendsForwarded
        )
        self.targets = ResponseTargets(
            scheme: upstream.tls == nil ? "http" : "https",
            authority: upstream.authority,
            upstreamPath: upstream.path,
            prefix: plan.path,
            strip: plan.strip
        )
        self.hostName = Array((plan.host ?? "").lowercased().utf8)
        let segments = Self.segments(of: Array(plan.path.utf8))
        self.segments = segments
        self.path =
            segments.contains { $0.contains(0x2F) } ? nil : segments.reduce(into: [0x2F]) { $0 += $1 + [0x2F] }
    }

    /// Splits first and decodes afterwards, so that an encoded slash stays within its segment.
    private static func segments(of path: [UInt8]) -> [[UInt8]] {
        let inner = path.dropFirst().dropLast()
        guard !inner.isEmpty else { return [] }
        return inner.split(separator: 0x2F, omittingEmptySubsequences: false).map { segment in
            var decoded: [UInt8] = []
            var rest = segment
            while let byte = rest.popFirst() {
                let digits = rest.prefix(2)
                if byte == 0x25, digits.count == 2, let high = digits.first?.hexValue, let low = digits.last?.hexValue {
                    decoded.append(high << 4 | low)
                    rest = rest.dropFirst(2)
                } else {
                    decoded.append(byte)
                }
            }
            return decoded
        }
    }

    /// The number of segments of the path: of two routes that match, the one with more wins.
    var depth: Int { self.segments.count }

    /// Whether the rest of the path would follow the upstream's root directly and begins with `/`: an upstream may read
    /// `//name` as another host.
    func leavesEmptyFirstSegment(of request: RequestHead, behind prefix: Int) -> Bool {
        guard self.plan.strip, self.plan.upstream.path == "/", prefix < request.target.path.count else { return false }
        return request.bytes.readableBytesUInt8Span[request.target.path.lower + prefix] == 0x2F
    }

    /// How many raw bytes of the request's path this route's path covers, or `nil` where it does not match.
    func matchedPrefix(of request: RequestHead, in bytes: Span<UInt8>) -> Int? {
        let path = request.target.path
        if request.target.isAsterisk || path.isEmpty { return self.segments.isEmpty ? 0 : nil }
        guard request.target.isEncoded else {
            guard let own = self.path, path.count >= own.count else { return nil }
            for index in own.indices where bytes[path.lower + index] != own[index] { return nil }
            return own.count
        }
        return self.decodedPrefix(of: path, in: bytes)
    }

    private func decodedPrefix(of path: ByteRange, in bytes: Span<UInt8>) -> Int? {
        var position = path.lower + 1
        for segment in self.segments {
            for expected in segment {
                guard position < path.upper, bytes[position] != 0x2F else { return nil }
                var byte = bytes[position]
                position += 1
                if byte == 0x25, position + 1 < path.upper,
                    let high = bytes[position].hexValue, let low = bytes[position + 1].hexValue
                {
                    byte = high << 4 | low
                    position += 2
                }
                guard byte == expected else { return nil }
            }
            guard position < path.upper, bytes[position] == 0x2F else { return nil }
            position += 1
        }
        return position - path.lower
    }
}

/// Whether a route has dropped cookies yet, which is logged once, by the event loop that sees it first.
final class CookieNotice: Sendable {
    /// The message whose cookies are dropped.
    enum Side { case request, response }

    private let wasRequestSeen = Atomic(false)
    private let wasResponseSeen = Atomic(false)

    /// Notes that cookies were dropped.
    ///
    /// - Returns: whether they are the first of this side.
    func isFirst(of side: Side) -> Bool {
        switch side {
        case .request: Self.isFirst(self.wasRequestSeen)
        case .response: Self.isFirst(self.wasResponseSeen)
        }
    }

    private static func isFirst(_ wasSeen: borrowing Atomic<Bool>) -> Bool {
        // Nearly every call finds it set, and reading it costs the other loops nothing.
        !wasSeen.load(ordering: .relaxed) && !wasSeen.exchange(true, ordering: .relaxed)
    }
}
