package import HTTPWire
import NIOCore
package import TokenModel

/// When a request was sent, and when the head of its response came.
package struct ExchangeTimes: Sendable {
    package let requestedAt: BootInstant
    package let receivedAt: BootInstant
    /// ``receivedAt`` on the wall clock, to be compared with `Date`.
    package let receivedAtWall: WallTime

    package init(requestedAt: BootInstant, receivedAt: BootInstant, receivedAtWall: WallTime) {
        self.requestedAt = requestedAt
        self.receivedAt = receivedAt
        self.receivedAtWall = receivedAtWall
    }
}

/// How long a response is fresh, and how old it is (RFC 9111 §4.2).
package struct Freshness: Equatable, Sendable {
    /// In seconds from its origin, never negative.
    package let lifetime: Int
    /// The response says how long it is fresh, by `max-age` or `Expires`.
    package let isExplicit: Bool
    /// When the response was generated, as far as its `Age`, its `Date` and the duration of the exchange tell: the
    /// earliest of them counts (§4.2.3).
    private let generatedAt: BootInstant

    /// - Parameters:
    ///   - head: the head whose fields say how long it is fresh.
    ///   - directives: of that head.
    ///   - answer: the head that has just come, if that is another: a 304 has its own `Age` and `Date`.
    package init(
        of head: ResponseHead,
        _ directives: ResponseDirectives,
        confirmedBy answer: ResponseHead? = nil,
        _ times: ExchangeTimes,
        _ rules: CacheRules
    ) {
        let bytes = head.bytes.readableBytesUInt8Span
        let date = head.date
        let expires = head.fields.values(of: "expires", in: bytes)
        if let maxAge = directives.maxAge {
            self.lifetime = maxAge
        } else if !expires.isEmpty {
            // A malformed date, most often 0, means the past (§5.3).
            let origin = date ?? times.receivedAtWall
            self.lifetime = Self.seconds(from: origin, to: expires.map { bytes.date($0) ?? origin }.min() ?? origin)
        } else if CacheableStatus.isHeuristicallyCacheable(head.status) || directives.isMarkedCacheable {
            self.lifetime = min(max(rules.defaultTTL, 0), DeltaSeconds.most)
        } else {
            self.lifetime = 0
        }
        self.isExplicit = directives.maxAge != nil || !expires.isEmpty
        self.generatedAt = answer.map { $0.generated(times, date: $0.date) } ?? head.generated(times, date: date)
    }

    /// The age in whole seconds (§4.2.3).
    package func age(at now: BootInstant) -> Int {
        let (age, overflow) = now.nanoseconds.subtractingReportingOverflow(self.generatedAt.nanoseconds)
        // Only a moment before all others is so far away.
        return overflow ? DeltaSeconds.most : min(Int(max(age, 0) / 1_000_000_000), DeltaSeconds.most)
    }

    /// For how many seconds it is still fresh. It is stale from 0 on down.
    package func ttl(at now: BootInstant) -> Int { self.lifetime - self.age(at: now) }

    /// Not below 0 and not above ``DeltaSeconds/most``.
    fileprivate static func seconds(from start: WallTime, to end: WallTime) -> Int {
        let seconds = start.duration(to: end).components.seconds
        return Int(min(max(seconds, 0), Int64(DeltaSeconds.most)))
    }
}

extension ResponseHead {
    /// `Date`; `nil` if it is missing or malformed.
    fileprivate var date: WallTime? {
        let bytes = self.bytes.readableBytesUInt8Span
        return self.fields.onlyValue(of: "date", in: bytes).flatMap { bytes.date($0) }
    }

    /// When the response was generated at the latest, on this machine's clock.
    fileprivate func generated(_ times: ExchangeTimes, date: WallTime?) -> BootInstant {
        let apparentAge = date.map { Freshness.seconds(from: $0, to: times.receivedAtWall) } ?? 0
        // The age was right when some cache sent the response, at the earliest when the request was sent.
        let byAge = times.requestedAt.advanced(by: .seconds(-self.age))
        return min(byAge, times.receivedAt.advanced(by: .seconds(-apparentAge)), times.receivedAt)
    }

    /// The first value of `Age`, in seconds. A malformed one is ignored (RFC 9111 §5.1).
    private var age: Int {
        let bytes = self.bytes.readableBytesUInt8Span
        guard let first = self.fields.values(of: "age", in: bytes).first else { return 0 }
        var members = QuotedList(of: first)
        return members.next(in: bytes).flatMap { DeltaSeconds.read($0, in: bytes) } ?? 0
    }
}
