import HTTPWire
import NIOCore

/// A route as an event loop uses it: all that can be made before the first request is made.
package final class Route: Sendable {
    package let plan: RoutePlan
    /// Its place in the configuration, counted from 1.
    package let number: Int
    /// Where the account's slot stands.
    package let slot: Int
    /// Which of the slot's prepared lines this route injects.
    package let line: Int
    /// Where the upstream's pool stands.
    package let pool: Int
    let rewrite: UpstreamRequest

    /// The host in lower case, or empty for any.
    let hostName: [UInt8]
    /// The path as it stands in a request without percent signs.
    private let path: [UInt8]
    /// The decoded segments of the path.
    private let segments: [ArraySlice<UInt8>]

    init(_ plan: RoutePlan, number: Int, slot: Int, line: Int, pool: Int) {
        self.plan = plan
        self.number = number
        self.slot = slot
        self.line = line
        self.pool = pool
        let upstream = plan.upstream
        self.rewrite = UpstreamRequest(
            path: upstream.path,
            host: upstream.authority,
            via: plan.via,
            injectedName: plan.injection.header
        )
        self.hostName = Array((plan.host ?? "").lowercased().utf8)
        self.path = Array(plan.path.utf8)
        self.segments =
            self.path.dropFirst().dropLast().isEmpty
            ? [] : self.path.dropFirst().dropLast().split(separator: 0x2F, omittingEmptySubsequences: false)
    }

    /// How many segments its path has: of two routes that match, the one with more wins.
    var depth: Int { self.segments.count }

    /// Whether what is left of the path goes right behind the upstream's root and begins with `/`: `//name` may be read
    /// as another host there.
    func leavesEmptyFirstSegment(of request: RequestHead, behind prefix: Int) -> Bool {
        guard self.plan.strip, self.plan.upstream.path == "/", prefix < request.target.path.count else { return false }
        return request.bytes.readableBytesUInt8Span[request.target.path.lower + prefix] == 0x2F
    }

    /// How many raw bytes of the request's path this route's path covers, or `nil` where it does not match.
    func matchedPrefix(of request: RequestHead, in bytes: Span<UInt8>) -> Int? {
        let path = request.target.path
        if request.target.isAsterisk || path.isEmpty { return self.segments.isEmpty ? 0 : nil }
        guard request.target.isEncoded else {
            guard path.count >= self.path.count else { return nil }
            for index in self.path.indices where bytes[path.lower + index] != self.path[index] { return nil }
            return self.path.count
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
