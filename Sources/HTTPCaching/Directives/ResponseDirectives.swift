package import HTTPWire
import NIOCore

/// What a response allows a private cache: `Cache-Control` of all lines (RFC 9111 §5.2.2).
///
/// `s-maxage` and `proxy-revalidate` mean shared caches only. Of several values the strictest counts, and a malformed
/// value counts as 0 seconds (§4.2.1).
package struct ResponseDirectives: Equatable, Sendable {
    /// Nothing of it may be stored.
    package private(set) var noStore = false
    /// It may be used only after the upstream has confirmed it. `no-cache` with field names counts as without.
    package private(set) var noCache = false
    /// It may not be used once it is stale, whatever else allows it.
    package private(set) var mustRevalidate = false
    /// It may be stored only by a cache that knows what its status means; such a cache ignores `no-store` (§5.2.2.3).
    package private(set) var mustUnderstand = false
    /// `public` or `private`: a private cache may store it, whatever its status.
    package private(set) var isMarkedCacheable = false
    /// How long it is fresh, in seconds.
    package private(set) var maxAge: Int?
    /// How long it may be used while it is revalidated, in seconds (RFC 5861 §3).
    package private(set) var staleWhileRevalidate: Int?
    /// How long it may stand in for an error, in seconds (RFC 5861 §4).
    package private(set) var staleIfError: Int?

    package init(_ head: ResponseHead) {
        let bytes = head.bytes.readableBytesUInt8Span
        for field in head.fields where bytes.matches(field.name, "cache-control") {
            var members = QuotedList(of: field.value)
            while let member = members.next(in: bytes) { self.take(Directive(member, in: bytes), in: bytes) }
        }
    }

    /// Whether it may never be used once it is stale (RFC 9111 §4.2.4).
    package var forbidsStale: Bool { self.noCache || self.mustRevalidate }

    private mutating func take(_ directive: Directive, in bytes: Span<UInt8>) {
        let name = directive.name
        if bytes.matches(name, "max-age") {
            self.maxAge = min(self.maxAge ?? .max, directive.seconds(in: bytes) ?? 0)
        } else if bytes.matches(name, "no-store") {
            self.noStore = true
        } else if bytes.matches(name, "no-cache") {
            self.noCache = true
        } else if bytes.matches(name, "must-revalidate") {
            self.mustRevalidate = true
        } else if bytes.matches(name, "must-understand") {
            self.mustUnderstand = true
        } else if bytes.matches(name, "public") || bytes.matches(name, "private") {
            self.isMarkedCacheable = true
        } else if bytes.matches(name, "stale-while-revalidate") {
            self.staleWhileRevalidate = min(self.staleWhileRevalidate ?? .max, directive.seconds(in: bytes) ?? 0)
        } else if bytes.matches(name, "stale-if-error") {
            self.staleIfError = min(self.staleIfError ?? .max, directive.seconds(in: bytes) ?? 0)
        }
    }
}
